// boomerang: checks: requests of regions with nowait are served while no thread waits, each region's one after another
// boomerang: sources: nowait_regions_make_requests_host.c
// boomerang: seeds: 8
// boomerang: variants: BOOMERANG_WAIT=spin | BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll | CUDA_DEVICE_MAX_CONNECTIONS=1 | BOOMERANG_SIM_MEMOPS=0 | BOOMERANG_DEVICE_RUNTIME=stock | BOOMERANG_DEVICE_RUNTIME=stock BOOMERANG_WAIT=block
#include <omp.h>

#include "../check.h"

#pragma omp requires reverse_offload

enum { REGIONS = 12, TEAMS = 4, REQUESTS = 10 };

void answer(int region, int request, long *reply);
int answered(int region);
int most_at_once(int region);
void wait_for_all(int requests);

int main(void) {
  int wrong[REGIONS];
  for (int r = 0; r < REGIONS; r++) {
    wrong[r] = -1;
#pragma omp target teams nowait num_teams(TEAMS) thread_limit(1) firstprivate(r) map(from : wrong[r])
#pragma omp parallel num_threads(1)
    {
      int errors = 0;
      for (int i = 0; i < REQUESTS; i++) {
        long reply = -1;
#pragma omp target device(ancestor : 1) firstprivate(r, i) map(always, tofrom : reply)
        answer(r, i, &reply);
        errors += reply != 1000L * r + i;
      }
      if (omp_get_team_num() == 0)
        wrong[r] = errors;
    }
  }
  /* This thread does something else: it is not in libgomp. */
  wait_for_all(REGIONS * TEAMS * REQUESTS);
#pragma omp taskwait
  for (int r = 0; r < REGIONS; r++) {
    CHECK(wrong[r] == 0, "region %d got %d wrong answers", r, wrong[r]);
    CHECK(answered(r) == TEAMS * REQUESTS, "%d requests served for region %d", answered(r), r);
    CHECK(most_at_once(r) == 1, "%d blocks of region %d ran at once", most_at_once(r), r);
  }
  return 0;
}
