// boomerang: checks: abort() on the device ends the program soon, with a message that names the kernel
// boomerang: plugins: ours
// boomerang: exit: failure
// boomerang: stderr: main.*omp_fn
// boomerang: timeout: 20
#include "../check.h"

int main(void) {
  int x = 1;
#pragma omp target map(tofrom : x)
  if (x)
    abort();
  CHECK(0, "a region that called abort() ended well");
}
