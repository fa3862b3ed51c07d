// boomerang: checks: a fault in a region with nowait that nobody waits for is reported at the end of the program, which fails
// boomerang: plugins: ours
// boomerang: exit: failure
// boomerang: stderr: kernel .*main.*omp_fn
// boomerang: timeout: 20
// boomerang: variants: BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll
#include "../check.h"

int main(void) {
  unsigned long address = 0x10;
#pragma omp target firstprivate(address) nowait
  {
    volatile int delay = 0;
    while (delay < 2000)
      delay++;
    *(volatile int *)address = delay;
  }
  return 0;
}
