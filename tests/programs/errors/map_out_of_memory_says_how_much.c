// boomerang: checks: mapping more than there is ends the program with a message that says how many bytes were asked for
// boomerang: plugins: ours
// boomerang: exit: failure
// boomerang: stderr: out of (device )?memory
// boomerang: stderr: 7036874417[0-9]+ bytes
// boomerang: timeout: 20
#include <stddef.h>

#include "../check.h"

int main(void) {
  static char one;
  char *array = &one;
  size_t size = (size_t)1 << 46;
#pragma omp target enter data map(alloc : array[0 : size])
  CHECK(0, "%zu bytes were mapped at %p", size, (void *)array);
}
