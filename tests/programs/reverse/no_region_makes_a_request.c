// boomerang: checks: regions that make no requests run, one or several at a time, where the program may make some
// boomerang: variants: BOOMERANG_PTX_OPT=0 | BOOMERANG_PTX_OPT=0 BOOMERANG_WAIT=block
#include <stdlib.h>
#include <string.h>

#include <omp.h>

#include "../check.h"

#pragma omp requires reverse_offload

int main(void) {
  enum { THREADS = 6, TEAMS = 5, BYTES = 1 << 20 };
  CHECK(omp_get_num_devices() > 0, "no device");
  /* What memory for stacks holds at first is not zeroes. */
  char *garbage = malloc(BYTES);
  memset(garbage, 0x5a, BYTES);
#pragma omp target data map(to : garbage[ : BYTES])
  {
  }
  int sums[THREADS] = {0};
#pragma omp parallel num_threads(THREADS)
  for (int turn = 0; turn < 3; turn++) {
    int sum = 0;
#pragma omp target teams num_teams(TEAMS) thread_limit(2) map(tofrom : sum) reduction(+ : sum)
    sum++;
    sums[omp_get_thread_num()] += sum;
  }
  for (int i = 0; i < THREADS; i++)
    CHECK(sums[i] == 3 * TEAMS, "thread %d: %d", i, sums[i]);
  free(garbage);
  return 0;
}
