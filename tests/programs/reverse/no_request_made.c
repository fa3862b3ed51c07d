// boomerang: checks: a region that could ask the host for something, but doesn't, computes and ends like any other
// boomerang: sources: no_request_made_host.c
// boomerang: variants: BOOMERANG_DEVICE_RUNTIME=stock
#include <omp.h>

#include "../check.h"

#pragma omp requires reverse_offload

void never_called(int *x);

int main(void) {
  for (int round = 0; round < 20; round++) {
    int x = round, ask = 0;
#pragma omp target map(tofrom : x) firstprivate(ask)
    {
      x = 3 * x + 1;
      if (ask) {
#pragma omp target device(ancestor : 1) map(always, tofrom : x)
        never_called(&x);
      }
    }
    CHECK(x == 3 * round + 1, "round %d gave %d", round, x);
  }
  return 0;
}
