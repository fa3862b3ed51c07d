// boomerang: measures: the time of regions with many teams that do nothing, with and without threads in them
// boomerang: flags: -ldl
// boomerang: variants: BOOMERANG_PTX_OPT=0 | BOOMERANG_PTX_OPT=prune | BOOMERANG_PTX_OPT=prune,heap | BOOMERANG_PTX_OPT=prune,fences,heap | BOOMERANG_PTX_OPT=direct,prune,copies,fences,team,registers
#include "bench.h"

enum { REGIONS = 1000 };

static struct series s;

static void measure_teams(const char *name, int count) {
  for (begin(&s, REGIONS, 2); more(&s); lap(&s)) {
#pragma omp target teams num_teams(count) thread_limit(8)
    {
    }
  }
  report_series(name, &s, 1);
}

static void measure_threads(const char *name, int count) {
  for (begin(&s, REGIONS, 2); more(&s); lap(&s)) {
#pragma omp target teams num_teams(count) thread_limit(8)
#pragma omp parallel
    {
      /* The compiler leaves out a parallel region with nothing in it. */
      __asm__ volatile("" ::: "memory");
    }
  }
  report_series(name, &s, 1);
}

int main(void) {
  measure_teams("start-1-team", 1);
  measure_teams("start-132-teams", 132);
  measure_teams("start-2112-teams", 2112);
  measure_threads("start-threads-of-132-teams", 132);
  measure_threads("start-threads-of-2112-teams", 2112);
  return 0;
}
