// boomerang: measures: malloc and free of 64 bytes in device code, by one thread and by 132 teams of 8 threads at once, and the chunks of schedule(dynamic)
// boomerang: flags: -ldl
// boomerang: variants: BOOMERANG_PTX_OPT=0 | BOOMERANG_PTX_OPT=prune | BOOMERANG_PTX_OPT=prune,heap | BOOMERANG_PTX_OPT=prune,fences,heap
#include "bench.h"

enum { TEAMS = 132, THREADS = 8, PAIRS = 20, CHUNKS = 2000, LAPS = 50 };

static struct series s;

/* How many blocks could not be allocated. */
static int allocate(int teams, int threads, int pairs) {
  int none = 0;
#pragma omp target teams num_teams(teams) thread_limit(threads) map(tofrom : none)
#pragma omp parallel num_threads(threads)
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
#pragma omp target parallel for num_threads(THREADS) schedule(dynamic) map(tofrom : sum) reduction(+ : sum)
  for (int i = 0; i < iterations; i++)
    sum += i & 1;
  return sum;
}

int main(void) {
  int none = 0, sum = 0;
  /* Each with what the region itself takes. */
  for (begin(&s, LAPS, 2); more(&s); lap(&s))
    none += allocate(1, 1, THREADS * PAIRS);
  report_series("malloc-free-one-thread", &s, THREADS * PAIRS);
  for (begin(&s, LAPS, 2); more(&s); lap(&s))
    none += allocate(TEAMS, THREADS, PAIRS);
  report_series("malloc-free-132-teams", &s, TEAMS * THREADS * PAIRS);
  for (begin(&s, LAPS, 2); more(&s); lap(&s))
    sum = dynamic(CHUNKS);
  report_series("dynamic-chunk", &s, CHUNKS);
  if (none != 0 || sum != CHUNKS / 2) {
    fprintf(stderr, "%d blocks could not be allocated, the sum is %d\n", none, sum);
    return 1;
  }
  return 0;
}
