// boomerang: checks: 200 regions that map an int make one launch, from the 32nd on as a graph, one copy back and two stream writes each, of what they map and for the end of the kernel; none allocates, frees or asks for ranges of memory
// boomerang: env: BOOMERANG_SIM_CALLS=1
// boomerang: plugins: ours
// boomerang: on: sim
// boomerang: stderr: cuLaunchKernel was called 3\d times
// boomerang: stderr: cuGraphLaunch was called 169 times
// boomerang: stderr: cuStreamBatchMemOp_v2 was called 2\d\d times
// boomerang: stderr: cuMemcpyDtoHAsync_v2 was called 2\d\d times
// boomerang: stderr: cuStreamWriteValue32\w* was called 2\d\d times
// boomerang: not-stderr: cu(MemAlloc|MemFree|MemGetAddressRange)\w* was called \d\d\d+ times
#include "../check.h"

int main(void) {
  int x = 0;
  for (int i = 0; i < 200; i++) {
#pragma omp target map(tofrom : x)
    x++;
  }
  CHECK(x == 200, "x is %d", x);
  return 0;
}
