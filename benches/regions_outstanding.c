// boomerang: measures: regions with nowait: the time of each at 1, 8, 64 and 512 outstanding, and of 8 of 50 ms against one after another
#include <omp.h>

#include "bench.h"

enum { MOST = 512, REGIONS = 2048, LONG = 8 };

/* One team of one thread that takes so many seconds. */
static void run_for(double seconds, int *done) {
#pragma omp target map(tofrom : done[0 : 1]) firstprivate(seconds) thread_limit(1)
  {
    double end = omp_get_wtime() + seconds;
    while (omp_get_wtime() < end)
      ;
    done[0]++;
  }
}

static void start_for(double seconds, int *done) {
#pragma omp target map(tofrom : done[0 : 1]) firstprivate(seconds) thread_limit(1) nowait
  {
    double end = omp_get_wtime() + seconds;
    while (omp_get_wtime() < end)
      ;
    done[0]++;
  }
}

static int counts[MOST];

/* Microseconds a region, with so many outstanding at a time. */
static double short_ones(int outstanding) {
  double start = now();
  for (int i = 0; i < REGIONS; i += outstanding) {
    for (int k = 0; k < outstanding; k++)
      start_for(0, &counts[k]);
#pragma omp taskwait
  }
  return (now() - start) / REGIONS;
}

int main(void) {
  static const int outstanding[] = {1, 8, 64, 512};
  int done[LONG] = {0};
  short_ones(8);
  for (int i = 0; i < 4; i++) {
    char name[40];
    snprintf(name, sizeof name, "nowait-%d-outstanding", outstanding[i]);
    report(name, short_ones(outstanding[i]), "us");
  }
  double start = now();
  for (int i = 0; i < LONG; i++)
    run_for(0.05, &done[i]);
  double serial = now() - start;
  start = now();
  for (int i = 0; i < LONG; i++)
    start_for(0.05, &done[i]);
#pragma omp taskwait
  double at_once = now() - start;
  report("nowait-8-of-50-ms", at_once / 1e3, "ms");
  report("nowait-8-of-50-ms-speedup", serial / at_once, "x");
  for (int i = 0; i < LONG; i++)
    if (done[i] != 2) {
      fprintf(stderr, "region %d ran %d times\n", i, done[i]);
      return 1;
    }
  return 0;
}
