// boomerang: checks: where the device has memory for the soft stacks of few regions only, the others wait for those
// boomerang: on: sim
// boomerang: env: BOOMERANG_SIM_MEMORY=400M
// boomerang: stock: dies: regions of several threads use one another's context and soft stacks
#include <omp.h>

#include "../check.h"

/* Soft stacks of 64 MiB for each region, but of the last ones 96 MiB. */
enum { REGIONS = 12, THREADS = 6, THREAD_LIMIT = 8, TEAMS = 64 };

int main(void) {
  int counts[REGIONS + THREADS] = {0};
  CHECK(omp_get_num_devices() > 0, "no device");
#pragma omp parallel num_threads(THREADS)
  {
    int me = omp_get_thread_num();
#pragma omp for nowait
    for (int i = 0; i < REGIONS; i++) {
#pragma omp target teams nowait num_teams(TEAMS) thread_limit(THREAD_LIMIT) map(tofrom : counts[i])
#pragma omp parallel num_threads(1)
#pragma omp atomic
      counts[i]++;
    }
#pragma omp target teams num_teams(TEAMS * 3 / 2) thread_limit(THREAD_LIMIT) map(tofrom : counts[REGIONS + me])
#pragma omp parallel num_threads(1)
#pragma omp atomic
    counts[REGIONS + me]++;
  }
  for (int i = 0; i < REGIONS + THREADS; i++) {
    int teams = i < REGIONS ? TEAMS : TEAMS * 3 / 2;
    CHECK(counts[i] == teams, "region %d ran %d teams", i, counts[i]);
  }
  return 0;
}
