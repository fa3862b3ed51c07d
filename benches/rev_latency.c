// boomerang: measures: the time from one reverse-offload request to the next, in a region that makes thousands in a row
// boomerang: sources: rev_latency_host.c
// boomerang: variants: BOOMERANG_WAIT=spin | BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll | BOOMERANG_DEVICE_RUNTIME=stock
#include "bench.h"

#pragma omp requires reverse_offload

void stamp(void);
void stamp_and_add(int *x, int y);
void stamp_and_touch(char *block);
double *intervals(int n);

enum { WARM_UP = 100, REQUESTS = 10000 };

static struct series s;

static int nothing_mapped(int n) {
#pragma omp target firstprivate(n)
  for (int i = 0; i <= n; i++) {
#pragma omp target device(ancestor : 1)
    stamp();
  }
  return n + 1;
}

static int int_mapped(int n) {
  int result = 0;
#pragma omp target firstprivate(n) map(from : result)
  {
    int x = 0, one = 1;
    for (int i = 0; i <= n; i++) {
#pragma omp target device(ancestor : 1) map(always, tofrom : x) firstprivate(one)
      stamp_and_add(&x, one);
    }
    result = x;
  }
  return result;
}

static int kib_mapped(int n) {
#pragma omp target firstprivate(n)
  {
    char block[1024];
    block[0] = 0;
    for (int i = 0; i <= n; i++) {
#pragma omp target device(ancestor : 1) map(always, tofrom : block)
      stamp_and_touch(block);
    }
  }
  return n + 1;
}

/* `region` makes one request more than asked, and returns how many were counted. */
static void measure(const char *name, int (*region)(int)) {
  region(WARM_UP);
  intervals(WARM_UP);
  begin(&s, 1, 0);
  more(&s);
  double cpu = cpu_now();
  int counted = region(REQUESTS);
  cpu = cpu_now() - cpu;
  if (counted != REQUESTS + 1) {
    fprintf(stderr, "%s: %d requests counted %d\n", name, REQUESTS + 1, counted);
    exit(1);
  }
  s.count = REQUESTS;
  report_counts(name, &s);
  report_samples(name, intervals(REQUESTS), REQUESTS);
  report_part(name, "cpu", cpu / REQUESTS, "us");
}

int main(void) {
  measure("request-nothing-mapped", nothing_mapped);
  measure("request-int-mapped", int_mapped);
  measure("request-kib-mapped", kib_mapped);
  return 0;
}
