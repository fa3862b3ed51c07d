// boomerang: checks: a region with nowait that nobody waits for runs to its end before the program ends, as with the stock plugin
// boomerang: stdout: region 30 has ended
// boomerang: variants: BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll
#include "../check.h"

int main(void) {
  for (int i = 0; i <= 30; i++) {
#pragma omp target firstprivate(i) nowait thread_limit(1)
    {
      volatile int delay = 0;
      while (delay < 300)
        delay++;
      printf("region %d has ended\n", i);
    }
  }
  return 0;
}
