// boomerang: measures: how long a request takes when 8 host threads are in regions with requests at the same time
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

int main(void) {
  pthread_t threads[THREADS];
  region(0);
  double start = now();
  for (int t = 0; t < THREADS; t++)
    if (pthread_create(&threads[t], 0, region, 0))
      return 1;
  for (int t = 0; t < THREADS; t++)
    pthread_join(threads[t], 0);
  report("request-8-threads", (now() - start) / (THREADS * REQUESTS), "us");
  if (counted() != (THREADS + 1) * REQUESTS) {
    fprintf(stderr, "%ld requests were served\n", counted());
    return 1;
  }
  return 0;
}
