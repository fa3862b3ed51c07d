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

static void nothing_mapped(int n) {
#pragma omp target firstprivate(n)
  for (int i = 0; i <= n; i++) {
#pragma omp target device(ancestor : 1)
    stamp();
  }
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

static void kib_mapped(int n) {
#pragma omp target firstprivate(n)
  {
    char block[1024];
    block[0] = 0;
    for (int i = 0; i <= n; i++) {
#pragma omp target device(ancestor : 1) map(always, tofrom : block)
      stamp_and_touch(block);
    }
  }
}

int main(void) {
  nothing_mapped(WARM_UP);
  intervals(WARM_UP);
  double cpu = cpu_now();
  nothing_mapped(REQUESTS);
  cpu = (cpu_now() - cpu) / REQUESTS;
  report_samples("request-nothing-mapped", intervals(REQUESTS), REQUESTS);
  report("request-nothing-mapped-cpu", cpu, "us");

  int_mapped(WARM_UP);
  intervals(WARM_UP);
  int sum = int_mapped(REQUESTS);
  report_samples("request-int-mapped", intervals(REQUESTS), REQUESTS);
  kib_mapped(WARM_UP);
  intervals(WARM_UP);
  kib_mapped(REQUESTS);
  report_samples("request-kib-mapped", intervals(REQUESTS), REQUESTS);

  if (sum != REQUESTS + 1) {
    fprintf(stderr, "%d requests counted %d\n", REQUESTS + 1, sum);
    return 1;
  }
  return 0;
}
