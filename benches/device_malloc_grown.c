// boomerang: measures: malloc and free of 64 bytes in device code where the heap has grown: the part that is there at first is full
// boomerang: flags: -ldl
// boomerang: stock: skip: the heap does not grow
#include "bench.h"

enum { TEAMS = 132, THREADS = 8, PAIRS = 20, LAPS = 50 };

static struct series s;

/* Fills 64 MiB in pages of 16 KiB; how many blocks could not be allocated. */
static int fill(void) {
  int none = 0;
#pragma omp target map(tofrom : none)
  for (int i = 0; i < 200; i++) {
    char *volatile block = malloc(i < 63 ? (1 << 20) - 16 : 16000);
    none += !block;
  }
  return none;
}

/* How many could not be. */
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

int main(void) {
  int none = fill();
  for (begin(&s, LAPS, 2); more(&s); lap(&s))
    none += allocate(1, 1, THREADS * PAIRS);
  report_series("malloc-free-grown-one-thread", &s, THREADS * PAIRS);
  for (begin(&s, LAPS, 2); more(&s); lap(&s))
    none += allocate(TEAMS, THREADS, PAIRS);
  report_series("malloc-free-grown-132-teams", &s, TEAMS * THREADS * PAIRS);
  if (none != 0) {
    fprintf(stderr, "%d blocks could not be allocated\n", none);
    return 1;
  }
  return 0;
}
