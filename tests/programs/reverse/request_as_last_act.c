// boomerang: checks: a request posted as the last thing that a region does is served before the region is over
// boomerang: sources: request_as_last_act_host.c
// boomerang: variants: BOOMERANG_WAIT=spin | BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll | BOOMERANG_SIM_MEMOPS=0 | BOOMERANG_DEVICE_RUNTIME=stock
#include <omp.h>

#include "../check.h"

#pragma omp requires reverse_offload

void count_request(int round);
int requests_counted(void);

int main(void) {
  enum { ROUNDS = 50 };
  for (int round = 0; round < ROUNDS; round++) {
#pragma omp target firstprivate(round)
    {
#pragma omp target device(ancestor : 1) firstprivate(round)
      count_request(round);
    }
    CHECK(requests_counted() == round + 1, "%d requests served when region %d was over",
          requests_counted(), round);
  }
  return 0;
}
