/* malloc and free in device code, with what the region itself takes. */
#include "bench.h"

enum { TEAMS = 132, THREADS = 8, PAIRS = 20, LAPS = 50 };

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

/* Reports one thread and all teams' threads by these names. How many blocks could not be allocated. */
static int measure_pairs(const char *one_thread, const char *all_teams) {
  int none = 0;
  for (begin(&s, LAPS, 2); more(&s); lap(&s))
    none += allocate(1, 1, THREADS * PAIRS);
  report_series(one_thread, &s, THREADS * PAIRS);
  for (begin(&s, LAPS, 2); more(&s); lap(&s))
    none += allocate(TEAMS, THREADS, PAIRS);
  report_series(all_teams, &s, TEAMS * THREADS * PAIRS);
  return none;
}
