// boomerang: measures: the time of regions with many teams that do nothing, with and without threads in them
// boomerang: variants: BOOMERANG_PTX_OPT=0 | BOOMERANG_PTX_OPT=prune,heap | BOOMERANG_PTX_OPT=prune,fences,heap
#include "bench.h"

enum { WARM_UP = 5, MOST = 1000 };

static double samples[MOST];

/* Reports the regions that fit into 0.4 seconds. */
#define MEASURE(name, region)                          \
  do {                                                 \
    int count = 0;                                     \
    double begin = 0, start;                           \
    for (int i = -WARM_UP; i < MOST; i++) {            \
      start = now();                                   \
      if (i == 0)                                      \
        begin = start;                                 \
      region;                                          \
      if (i >= 0)                                      \
        samples[count++] = now() - start;              \
      if (i >= 0 && now() - begin > 4e5)               \
        break;                                         \
    }                                                  \
    report_samples(name, samples, count);              \
  } while (0)

static void teams(int count) {
#pragma omp target teams num_teams(count) thread_limit(8)
  {
  }
}

static void teams_with_threads(int count) {
#pragma omp target teams num_teams(count) thread_limit(8)
#pragma omp parallel
  {
    /* The compiler leaves out a region with nothing in it. */
    __asm__ volatile("" ::: "memory");
  }
}

int main(void) {
  MEASURE("empty-1-team", teams(1));
  MEASURE("empty-132-teams", teams(132));
  MEASURE("empty-2112-teams", teams(2112));
  MEASURE("threads-132-teams", teams_with_threads(132));
  MEASURE("threads-2112-teams", teams_with_threads(2112));
  return 0;
}
