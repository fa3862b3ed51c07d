// boomerang: checks: code on the GPU has the host print a greeting, and gets the host's answer back
// boomerang: sources: hello_host.c
// boomerang: stdout: ^Hello from the host, called by the GPU$
// boomerang: stdout: ^the device got its answer: 42$
// boomerang: variants: BOOMERANG_WAIT=spin | BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll | CUDA_DEVICE_MAX_CONNECTIONS=1 | CUDA_DEVICE_MAX_CONNECTIONS=2 | BOOMERANG_SIM_MEMOPS=0 | BOOMERANG_DEVICE_RUNTIME=stock
#include <omp.h>

#include "../check.h"

#pragma omp requires reverse_offload

void greet_on_host(int from_device, int *answer);

int main(void) {
  int answer = 0, on_host = -1;
#pragma omp target map(from : answer, on_host)
  {
    int reply = 0;
    on_host = omp_is_initial_device();
#pragma omp target device(ancestor : 1) firstprivate(on_host) map(always, tofrom : reply)
    greet_on_host(!on_host, &reply);
    answer = reply + 1;
  }
  CHECK(!on_host, "the region ran on the host");
  CHECK(answer == 42, "the device got %d", answer);
  printf("the device got its answer: %d\n", answer);
  return 0;
}
