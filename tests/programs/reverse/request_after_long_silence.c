// boomerang: checks: a request made long after the region began, when the host sleeps, is served like any other
// boomerang: sources: request_after_long_silence_host.c
// boomerang: variants: BOOMERANG_WAIT=spin | BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll | CUDA_DEVICE_MAX_CONNECTIONS=1 | CUDA_DEVICE_MAX_CONNECTIONS=2 | BOOMERANG_DEVICE_RUNTIME=stock | GOMP_REVERSE_OFFLOAD_THREADS=2
#include "../check.h"

#pragma omp requires reverse_offload

void add(int *x);

int main(void) {
  int x = 0;
#pragma omp target map(tofrom : x)
  {
    int v = x;
    for (int round = 0; round < 3; round++) {
      volatile int idle = 0;
      while (idle < 30000)
        idle++;
#pragma omp target device(ancestor : 1) map(always, tofrom : v)
      add(&v);
    }
    x = v;
  }
  CHECK(x == 3, "3 requests added up to %d", x);
  return 0;
}
