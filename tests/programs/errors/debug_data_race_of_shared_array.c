// boomerang: checks: a read of an element that another thread writes in the same loop, without a barrier between, is a data race
// boomerang: flags: -g
// boomerang: on: sim
// boomerang: env: BOOMERANG_SIM_CHECK=races
// boomerang: exit: failure
// boomerang: stderr: : data race$
// boomerang: stderr: debug_data_race_of_shared_array\.c:21 in 
// boomerang: stderr: debug_data_race_of_shared_array\.c:24 in 
#include "../check.h"

#define N 64

int main(void) {
  int a[N], b[N];
  for (int i = 0; i < N; i++)
    a[i] = i;
#pragma omp target parallel map(tofrom : a) map(from : b) num_threads(4)
  {
#pragma omp for nowait
    for (int i = 0; i < N; i++)
      a[i] *= 2;
#pragma omp for
    for (int i = 0; i < N; i++)
      b[i] = a[N - 1 - i];
  }
  CHECK(0, "nobody saw that the first loop does not wait, b[0] is %d", b[0]);
}
