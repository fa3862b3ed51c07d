// boomerang: measures: the time of a small loop over arrays, and the memory bandwidth of large ones, in number of teams and threads as the plugin chooses
// boomerang: variants: BOOMERANG_PTX_OPT=0 | BOOMERANG_PTX_OPT=prune,heap | BOOMERANG_PTX_OPT=prune,fences,heap | BOOMERANG_PTX_OPT=prune,fences,heap BOOMERANG_REGISTERS=64 | BOOMERANG_PTX_OPT=prune,fences,heap BOOMERANG_REGISTERS=40
#include "bench.h"

enum { SMALL = 4096, LARGE = 1 << 26, REPEAT = 20, SMALL_REPEAT = 500 };

static double samples[SMALL_REPEAT];

static void triad(double *a, const double *b, const double *c, long n) {
#pragma omp target teams distribute parallel for simd map(to : a[0 : n], b[0 : n], c[0 : n])
  for (long i = 0; i < n; i++)
    a[i] = b[i] + 3.0 * c[i];
}

static void triad_without_simd(double *a, const double *b, const double *c, long n) {
#pragma omp target teams distribute parallel for map(to : a[0 : n], b[0 : n], c[0 : n])
  for (long i = 0; i < n; i++)
    a[i] = b[i] + 3.0 * c[i];
}

static double dot(const double *b, const double *c, long n) {
  double sum = 0;
#pragma omp target teams distribute parallel for simd map(to : b[0 : n], c[0 : n]) reduction(+ : sum)
  for (long i = 0; i < n; i++)
    sum += b[i] * c[i];
  return sum;
}

/* Terabytes a second at the median of `count` samples. */
static void report_bandwidth(const char *name, double bytes, int count) {
  qsort(samples, (size_t)count, sizeof *samples, compare_doubles);
  report(name, bytes / samples[count / 2] * 1e-6, "TB/s");
}

int main(void) {
  double *a = malloc(LARGE * sizeof *a), *b = malloc(LARGE * sizeof *b), *c = malloc(LARGE * sizeof *c);
  if (!a || !b || !c)
    return 1;
#pragma omp target enter data map(alloc : a[0 : LARGE], b[0 : LARGE], c[0 : LARGE])
#pragma omp target teams distribute parallel for simd map(to : a[0 : LARGE], b[0 : LARGE], c[0 : LARGE])
  for (long i = 0; i < LARGE; i++) {
    b[i] = 1;
    c[i] = 2;
    a[i] = 0;
  }
  for (int i = -5; i < SMALL_REPEAT; i++) {
    double start = now();
    triad(a, b, c, SMALL);
    if (i >= 0)
      samples[i] = now() - start;
  }
  report_samples("triad-4096", samples, SMALL_REPEAT);
#define BANDWIDTH(name, arrays, run)                                 \
  do {                                                               \
    for (int i = -2; i < REPEAT; i++) {                              \
      double start = now();                                          \
      run;                                                           \
      if (i >= 0)                                                    \
        samples[i] = now() - start;                                  \
    }                                                                \
    report_bandwidth(name, arrays * sizeof(double) * (double)LARGE, REPEAT); \
  } while (0)
  BANDWIDTH("triad-2^26", 3, triad(a, b, c, LARGE));
  BANDWIDTH("triad-2^26-without-simd", 3, triad_without_simd(a, b, c, LARGE));
  double sum = 0;
  BANDWIDTH("dot-2^26", 2, sum = dot(b, c, LARGE));
  if (sum != 2.0 * LARGE) {
    fprintf(stderr, "the sum is %g\n", sum);
    return 1;
  }
#pragma omp target exit data map(delete : a[0 : LARGE], b[0 : LARGE], c[0 : LARGE])
  return 0;
}
