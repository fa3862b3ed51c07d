// boomerang: checks: several host threads map, run and unmap at once, each with its own results
#include <omp.h>

#include "../check.h"

int main(void) {
  enum { THREADS = 8, ROUNDS = 15, N = 200 };
  int wrong = 0;
  /* Before there are threads: they inherit a default device only if libgomp has looked for devices already. */
  CHECK(omp_get_num_devices() > 0, "no device");
#pragma omp parallel num_threads(THREADS) reduction(+ : wrong)
  {
    int me = omp_get_thread_num(), data[N];
    for (int round = 0; round < ROUNDS; round++) {
      for (int i = 0; i < N; i++)
        data[i] = me + i;
#pragma omp target map(tofrom : data) firstprivate(me, round)
      for (int i = 0; i < N; i++)
        data[i] = data[i] * (round + 1) + me;
      for (int i = 0; i < N; i++)
        wrong += data[i] != (me + i) * (round + 1) + me;
    }
  }
  CHECK(wrong == 0, "%d elements are wrong", wrong);
  return 0;
}
