// boomerang: measures: 8 host threads that run 4 kernels of 50 ms on one team each, against one thread that runs all of them
// boomerang: flags: -pthread
#include <omp.h>
#include <pthread.h>

#include "bench.h"

enum { THREADS = 8, KERNELS = 4 };

static const double SECONDS = 0.05;

static void *run(void *result) {
  int *done = result;
  double seconds = SECONDS;
  for (int i = 0; i < KERNELS; i++) {
#pragma omp target map(tofrom : done[0 : 1]) firstprivate(seconds) thread_limit(1)
    {
      double end = omp_get_wtime() + seconds;
      while (omp_get_wtime() < end)
        ;
      done[0]++;
    }
  }
  return 0;
}

int main(void) {
  pthread_t threads[THREADS];
  int done[THREADS] = {0};
  run(&done[0]);
  double start = now();
  for (int t = 0; t < THREADS; t++)
    run(&done[t]);
  double serial = now() - start;
  start = now();
  for (int t = 0; t < THREADS; t++)
    if (pthread_create(&threads[t], 0, run, &done[t]))
      return 1;
  for (int t = 0; t < THREADS; t++)
    pthread_join(threads[t], 0);
  double at_once = now() - start;
  report("threads-8-of-4-kernels", at_once / 1e3, "ms");
  report("threads-8-of-4-kernels-speedup", serial / at_once, "x");
  for (int t = 0; t < THREADS; t++)
    if (done[t] != (2 + (t == 0)) * KERNELS) {
      fprintf(stderr, "thread %d ran %d kernels\n", t, done[t]);
      return 1;
    }
  return 0;
}
