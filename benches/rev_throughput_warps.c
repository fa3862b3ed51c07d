// boomerang: measures: the time per request when 4096 warps make 100 each at the same time
// boomerang: sources: rev_throughput_host.c
// boomerang: variants: GOMP_REVERSE_OFFLOAD_THREADS=4
// boomerang: stock: skip: takes more than 24 s
#include "bench.h"

#pragma omp requires reverse_offload

enum { TEAMS = 512, WARPS = 8, REQUESTS = 100, REGIONS = 5 };

void count_one(void);
long counted(void);

static struct series s;

static void all_warps(int requests) {
#pragma omp target teams distribute parallel for num_teams(TEAMS) num_threads(WARPS)
  for (int w = 0; w < TEAMS * WARPS; w++)
    for (int i = 0; i < requests; i++) {
#pragma omp target device(ancestor : 1)
      count_one();
    }
}

int main(void) {
  double start = now();
  all_warps(1);
  /* A GPU makes them all; the simulator has to get done, too. */
  int requests = now() - start < 1e6 ? REQUESTS : 1;
  for (begin(&s, REGIONS, 0); more(&s); lap(&s))
    all_warps(requests);
  report_series("request-4096-warps", &s, (double)TEAMS * WARPS * requests);
  if (counted() != (long)TEAMS * WARPS * (requests * s.count + 1)) {
    fprintf(stderr, "%ld requests were served\n", counted());
    return 1;
  }
  return 0;
}
