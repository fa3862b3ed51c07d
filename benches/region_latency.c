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

static double samples[REGIONS];

int main(void) {
  int x = 0;
  for (int i = 0; i < WARM_UP; i++) {
#pragma omp target map(tofrom : x)
    {
      x++;
#ifdef REVERSE
      if (x == 1) {
#pragma omp target device(ancestor : 1) map(always, tofrom : x)
        serve(&x);
      }
#endif
    }
  }
  for (int i = 0; i < REGIONS; i++) {
    double start = now();
#pragma omp target
    {
    }
    samples[i] = now() - start;
  }
  report_samples(NAME("empty-region"), samples, REGIONS);
  for (int i = 0; i < REGIONS; i++) {
    double start = now();
#pragma omp target map(tofrom : x)
    x++;
    samples[i] = now() - start;
  }
  report_samples(NAME("map-int-region"), samples, REGIONS);
  return x < WARM_UP + REGIONS;
}
