// boomerang: checks: nothing is enqueued behind kernels that make requests: it would hold a hardware channel until the kernel ends
// boomerang: env: BOOMERANG_SIM_CALLS=1 BOOMERANG_WAIT=spin
// boomerang: plugins: ours
// boomerang: on: sim
// boomerang: stderr: cuLaunchKernel was called 2\d\d times
// boomerang: stderr: cuMemcpyDtoHAsync_v2 was called (2\d\d) times
// boomerang: not-stderr: cuStreamWriteValue32\w* was called [3-9]\d\d times
// boomerang: not-stderr: cu(LaunchHostFunc|StreamAddCallback)\w* was called \d\d\d+ times
#include "../check.h"

#pragma omp requires reverse_offload

int main(void) {
  for (int i = 0; i < 200; i++) {
    int x = i;
#pragma omp target map(tofrom : x) thread_limit(1)
    {
#pragma omp target device(ancestor : 1) map(always, tofrom : x)
      x++;
    }
    CHECK(x == i + 1, "%d became %d", i, x);
  }
  return 0;
}
