// boomerang: checks: a kernel with nowait that follows a bad pointer ends the program soon, with a message that names it
// boomerang: plugins: ours
// boomerang: exit: failure
// boomerang: stderr: kernel .*culprit.*omp_fn
// boomerang: not-stderr: cuMemFree|finalization failed
// boomerang: timeout: 20
// boomerang: variants: BOOMERANG_WAIT=spin | BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll | CUDA_DEVICE_MAX_CONNECTIONS=1
#include "../check.h"

static void culprit(int *x) {
  unsigned long address = 0x10;
#pragma omp target map(tofrom : x[0 : 1]) firstprivate(address) nowait
  {
    x[0] = 1;
    *(volatile int *)address = x[0];
  }
}

int main(void) {
  int x = 0, y = 0;
#pragma omp target map(tofrom : y) nowait
  y = 1;
  culprit(&x);
#pragma omp taskwait
  CHECK(0, "a region that wrote to address 0x10 ended well, x is %d", x);
}
