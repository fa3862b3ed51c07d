// boomerang: checks: barriers separate the phases of a parallel region, and of a parallel region nested in it
// boomerang: device-flags: -latomic
#include <omp.h>

#include "../check.h"

enum { THREADS = 8, ROUNDS = 20 };

int main(void) {
  int wrong = 0, threads = 0, levels = 0;
#pragma omp target map(tofrom : wrong) map(from : threads, levels)
  {
    int slots[THREADS] = {0};
#pragma omp parallel num_threads(THREADS)
    {
      int me = omp_get_thread_num(), n = omp_get_num_threads();
      for (int round = 1; round <= ROUNDS; round++) {
        slots[me] = round;
#pragma omp barrier
        for (int t = 0; t < n; t++)
          if (slots[t] != round) {
#pragma omp atomic
            wrong++;
          }
#pragma omp barrier
      }
      int inner[2] = {0, 0}, bad = 0, level = 0;
#pragma omp parallel num_threads(2) reduction(+ : bad) reduction(max : level)
      {
        inner[omp_get_thread_num()] = me + 1;
#pragma omp barrier
        for (int t = 0; t < omp_get_num_threads(); t++)
          bad += inner[t] != me + 1;
        level = omp_get_level();
      }
#pragma omp critical
      {
        wrong += bad;
        threads = n;
        levels = level;
      }
    }
  }
  CHECK(threads == THREADS, "%d threads ran", threads);
  CHECK(levels == 2, "nested to level %d", levels);
  CHECK(wrong == 0, "%d slots held another phase's value", wrong);
  return 0;
}
