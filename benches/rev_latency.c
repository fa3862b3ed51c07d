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
  double warm_up = now();
  region(WARM_UP);
  intervals(WARM_UP);
  /* As many as fit into some two seconds: a GPU makes them all, the simulator may not. */
  double most = 2e6 * WARM_UP / (now() - warm_up);
  int requests = most < WARM_UP ? WARM_UP : most < REQUESTS ? (int)most : REQUESTS;

  begin(&s, 1, 0);
  more(&s);
  double cpu = cpu_now();
  int counted = region(requests);
  cpu = cpu_now() - cpu;
  if (counted != requests + 1) {
    fprintf(stderr, "%s: %d requests counted %d\n", name, requests + 1, counted);
    exit(1);
  }
  s.count = requests;
  report_counts(name, &s);
  report_samples(name, intervals(requests), requests);
  report_part(name, "cpu", cpu / requests, "us");
}

int main(void) {
  measure("request-nothing-mapped", nothing_mapped);
  measure("request-int-mapped", int_mapped);
  measure("request-kib-mapped", kib_mapped);
  return 0;
}
