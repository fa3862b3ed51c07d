// boomerang: measures: how long a request takes when 64 teams make 50 each at the same time
// boomerang: sources: rev_throughput_host.c
// boomerang: variants: BOOMERANG_WAIT=spin | BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll | BOOMERANG_DEVICE_RUNTIME=stock
// boomerang: variants: GOMP_REVERSE_OFFLOAD_THREADS=4
#include "bench.h"

#pragma omp requires reverse_offload

enum { TEAMS = 64, REQUESTS = 50, REGIONS = 200 };

void count_one(void);
long counted(void);

static struct series s;

static void all_teams(void) {
#pragma omp target teams distribute num_teams(TEAMS) thread_limit(1)
  for (int t = 0; t < TEAMS; t++)
    for (int i = 0; i < REQUESTS; i++) {
#pragma omp target device(ancestor : 1)
      count_one();
    }
}

int main(void) {
  for (begin(&s, REGIONS, 1); more(&s); lap(&s))
    all_teams();
  report_series("request-64-teams", &s, TEAMS * REQUESTS);
  if (counted() != (long)TEAMS * REQUESTS * (s.count + 1)) {
    fprintf(stderr, "%ld requests were served\n", counted());
    return 1;
  }
  return 0;
}
