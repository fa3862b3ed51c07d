// boomerang: measures: the time per request of one host thread, and of 8 that are in regions with requests at the same time
// boomerang: sources: rev_throughput_host.c
// boomerang: flags: -pthread
// boomerang: variants: BOOMERANG_WAIT=spin | BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll | GOMP_REVERSE_OFFLOAD_THREADS=4
// boomerang: stock: hangs: the regions of a device share one request word
#include <pthread.h>

#include "bench.h"

#pragma omp requires reverse_offload

enum { THREADS = 8, REQUESTS = 2000, ROUNDS = 20 };

void count_one(void);
long counted(void);

static struct series s;

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

/* `n` threads at once; how many regions that made. */
static int time_threads(const char *name, int n) {
  pthread_t threads[THREADS];
  for (begin(&s, ROUNDS, 1); more(&s); lap(&s)) {
    for (int t = 0; t < n; t++)
      if (pthread_create(&threads[t], 0, region, 0))
        exit(1);
    for (int t = 0; t < n; t++)
      pthread_join(threads[t], 0);
  }
  report_series(name, &s, n * REQUESTS);
  return n * (s.count + 1);
}

int main(void) {
  int regions = time_threads("request-1-thread", 1);
  regions += time_threads("request-8-threads", THREADS);
  if (counted() != (long)regions * REQUESTS) {
    fprintf(stderr, "%ld requests were served\n", counted());
    return 1;
  }
  return 0;
}
