// boomerang: measures: malloc and free of 64 bytes in device code, by one thread and by 132 teams of 8 threads at once, and loops with schedule(dynamic)
// boomerang: variants: BOOMERANG_PTX_OPT=0 | BOOMERANG_PTX_OPT=prune,heap | BOOMERANG_PTX_OPT=prune,fences,heap
#include "bench.h"

enum { TEAMS = 132, WARPS = 8, PAIRS = 50, ITERATIONS = 100000 };

static int allocate(int teams, int warps, int pairs) {
  int none = 0;
#pragma omp target teams num_teams(teams) thread_limit(warps) map(tofrom : none)
#pragma omp parallel num_threads(warps)
  for (int i = 0; i < pairs; i++) {
    int *volatile block = malloc(64);
    if (block)
      *block = i;
    else
#pragma omp atomic
      none++;
    free(block);
  }
  return none;
}

static int dynamic(int iterations) {
  int sum = 0;
#pragma omp target parallel for num_threads(8) schedule(dynamic) map(tofrom : sum) reduction(+ : sum)
  for (int i = 0; i < iterations; i++)
    sum += i & 1;
  return sum;
}

int main(void) {
  int none = allocate(TEAMS, WARPS, 1) + dynamic(1);
  double base = now();
  none += allocate(1, 1, 1);
  base = now() - base;
  double start = now();
  none += allocate(1, 1, 1000);
  report("malloc-free-64-one-thread", (now() - start - base) / 1000, "us");
  base = now();
  none += allocate(TEAMS, WARPS, 1);
  base = now() - base;
  start = now();
  none += allocate(TEAMS, WARPS, 1 + PAIRS);
  report("malloc-free-64-132-teams", (now() - start - base) / (TEAMS * WARPS * PAIRS) * 1e3, "ns");
  start = now();
  int sum = dynamic(ITERATIONS);
  report("dynamic-chunk", (now() - start) / ITERATIONS * 1e3, "ns");
  if (none != 0 || sum != ITERATIONS / 2) {
    fprintf(stderr, "%d blocks could not be allocated, the sum is %d\n", none, sum);
    return 1;
  }
  return 0;
}
