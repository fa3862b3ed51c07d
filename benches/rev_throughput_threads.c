// boomerang: measures: the time per request of one host thread, and of 8 that are in regions with requests at the same time
// boomerang: sources: rev_throughput_host.c
// boomerang: flags: -pthread
// boomerang: variants: BOOMERANG_WAIT=spin | BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll
// boomerang: stock: hangs: the regions of a device share one request word
#include <pthread.h>

#include "bench.h"

#pragma omp requires reverse_offload

enum { THREADS = 8, REQUESTS = 2000 };

void count_one(void);
long counted(void);

static void *region(void *unused) {
  (void)unused;
  int n = REQUESTS;
#pragma omp target map(to : n)
  for (int i = 0; i < n; i++) {
#pragma omp target device(ancestor : 1)
    count_one();
  }
  return 0;
}

static double time_threads(int n) {
  pthread_t threads[THREADS];
  double start = now();
  for (int t = 0; t < n; t++)
    if (pthread_create(&threads[t], 0, region, 0))
      exit(1);
  for (int t = 0; t < n; t++)
    pthread_join(threads[t], 0);
  return (now() - start) / (n * REQUESTS);
}

int main(void) {
  region(0);
  report("request-1-thread", time_threads(1), "us");
  report("request-8-threads", time_threads(THREADS), "us");
  if (counted() != (1 + 1 + THREADS) * REQUESTS) {
    fprintf(stderr, "%ld requests were served\n", counted());
    return 1;
  }
  return 0;
}
