// boomerang: checks: a kernel that follows a pointer to host memory nobody mapped ends the program soon, with a message that names the kernel
// boomerang: plugins: ours
// boomerang: exit: failure
// boomerang: stderr: follow_pointer.*omp_fn
// boomerang: timeout: 20
#include "../check.h"

static int follow_pointer(int *unmapped) {
  int value = 0;
#pragma omp target map(from : value) is_device_ptr(unmapped)
  value = *unmapped;
  return value;
}

int main(void) {
  int *memory = malloc(sizeof *memory);
  *memory = 5;
  int value = follow_pointer(memory);
  CHECK(0, "the region read %d through a host pointer", value);
}
