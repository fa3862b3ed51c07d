// boomerang: measures: the time of an empty region, and of one that maps an int
#include "bench.h"

/* region_latency_reverse.c measures the same in a program that uses reverse offload. */
#ifdef REVERSE
#define NAME(name) name "-reverse"
#pragma omp requires reverse_offload
void serve(int *x);
#else
#define NAME(name) name
#endif

enum { WARM_UP = 100, REGIONS = 5000 };

static struct series s;

int main(void) {
  int x = 0, laps = 0;
  for (begin(&s, REGIONS, WARM_UP); more(&s); lap(&s)) {
#pragma omp target
    {
    }
  }
  report_series(NAME("empty-region"), &s, 1);
  for (begin(&s, REGIONS, WARM_UP); more(&s); lap(&s), laps++) {
#pragma omp target map(tofrom : x)
    {
      x++;
#ifdef REVERSE
      if (x < 0) {
#pragma omp target device(ancestor : 1) map(always, tofrom : x)
        serve(&x);
      }
#endif
    }
  }
  report_series(NAME("map-int-region"), &s, 1);
  return x != laps;
}
