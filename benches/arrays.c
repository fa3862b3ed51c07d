// boomerang: measures: the time of a loop over 4096 doubles, and the memory bandwidth of loops over 2^26 and 2^28, with teams and threads as the plugin chooses them
// boomerang: flags: -ldl
// boomerang: variants: BOOMERANG_PTX_OPT=0 | BOOMERANG_PTX_OPT=prune | BOOMERANG_PTX_OPT=prune,heap | BOOMERANG_PTX_OPT=prune,fences,heap | BOOMERANG_PTX_OPT=prune,direct,fences,team | BOOMERANG_PTX_OPT=prune,direct,fences,team,registers | BOOMERANG_PTX_OPT=prune,direct,fences,team,registers,loads | BOOMERANG_REGISTERS=40 | OMP_NUM_TEAMS_DEV=1056
#include "bench.h"

enum { SMALL = 4096, LAPS = 200 };

static struct series s;
static double *a, *b, *c;

static void triad(long n) {
#pragma omp target teams distribute parallel for simd map(to : a[0 : n], b[0 : n], c[0 : n])
  for (long i = 0; i < n; i++)
    a[i] = b[i] + 3.0 * c[i];
}

static void triad_without_simd(long n) {
#pragma omp target teams distribute parallel for map(to : a[0 : n], b[0 : n], c[0 : n])
  for (long i = 0; i < n; i++)
    a[i] = b[i] + 3.0 * c[i];
}

static void fill(long n) {
#pragma omp target teams distribute parallel for simd map(to : b[0 : n], c[0 : n])
  for (long i = 0; i < n; i++)
    b[i] = 1, c[i] = 2;
}

static double dot(long n) {
  double sum = 0;
#pragma omp target teams distribute parallel for simd map(to : b[0 : n], c[0 : n]) reduction(+ : sum)
  for (long i = 0; i < n; i++)
    sum += b[i] * c[i];
  return sum;
}

int main(void) {
  uint64_t calls, instructions;
  /* The simulator is no faster than the host. */
  long large = sim_counts(&calls, &instructions) ? 1 << 13 : 1 << 26, huge = 4 * large;
  double bytes = (double)large * sizeof *a;
  /* The host's memory is never touched: the device fills its own. */
  a = malloc(huge * sizeof *a), b = malloc(huge * sizeof *b), c = malloc(huge * sizeof *c);
  if (!a || !b || !c)
    return 1;
#pragma omp target enter data map(alloc : a[0 : huge], b[0 : huge], c[0 : huge])
  fill(huge);
  for (begin(&s, LAPS, 2); more(&s); lap(&s))
    triad(SMALL);
  report_series("triad-4096", &s, 1);
  for (begin(&s, LAPS, 2); more(&s); lap(&s))
    triad(large);
  report_bandwidth("triad-large", &s, 3 * bytes);
  for (begin(&s, LAPS, 2); more(&s); lap(&s))
    triad(huge);
  report_bandwidth("triad-huge", &s, 12 * bytes);
  for (begin(&s, LAPS, 2); more(&s); lap(&s))
    triad_without_simd(large);
  report_bandwidth("triad-large-without-simd", &s, 3 * bytes);
  double sum = 0;
  for (begin(&s, LAPS, 2); more(&s); lap(&s))
    sum = dot(large);
  report_bandwidth("dot-large", &s, 2 * bytes);
#pragma omp target exit data map(delete : a[0 : huge], b[0 : huge], c[0 : huge])
  if (sum != 2.0 * (double)large) {
    fprintf(stderr, "the sum is %g\n", sum);
    return 1;
  }
  return 0;
}
