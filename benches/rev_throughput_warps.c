// boomerang: measures: the time per request when 4096 warps make 100 each at the same time
// boomerang: sources: rev_throughput_host.c
// boomerang: stock: skip: takes more than 24 s
#include "bench.h"

#pragma omp requires reverse_offload

enum { TEAMS = 512, WARPS = 8, REQUESTS = 100 };

void count_one(void);
long counted(void);

static void all_warps(int requests) {
#pragma omp target teams distribute parallel for num_teams(TEAMS) num_threads(WARPS)
  for (int w = 0; w < TEAMS * WARPS; w++)
    for (int i = 0; i < requests; i++) {
#pragma omp target device(ancestor : 1)
      count_one();
    }
}

int main(void) {
  all_warps(1);
  double start = now();
  all_warps(REQUESTS);
  report("request-4096-warps", (now() - start) / (TEAMS * WARPS * REQUESTS), "us");
  if (counted() != TEAMS * WARPS * (REQUESTS + 1)) {
    fprintf(stderr, "%ld requests were served\n", counted());
    return 1;
  }
  return 0;
}
