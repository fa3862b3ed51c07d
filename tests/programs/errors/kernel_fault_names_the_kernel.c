// boomerang: checks: a kernel that follows a bad pointer ends the program soon, with a message that names the kernel and no cascade after it
// boomerang: plugins: ours
// boomerang: exit: failure
// boomerang: stderr: main.*omp_fn
// boomerang: not-stderr: cuMemFree|finalization failed
// boomerang: timeout: 20
// boomerang: variants: BOOMERANG_WAIT=spin | BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll
#include "../check.h"

int main(void) {
  int x = 0;
  unsigned long address = 0x10;
#pragma omp target map(tofrom : x) firstprivate(address)
  {
    x = 1;
    *(volatile int *)address = x;
  }
  CHECK(0, "a region that wrote to address 0x10 ended well, x is %d", x);
}
