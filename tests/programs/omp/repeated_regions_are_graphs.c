// boomerang: checks: each kernel is launched as a graph from its 32nd launch on, with another shape and other arguments where they change
// boomerang: env: BOOMERANG_SIM_CALLS=1
// boomerang: plugins: ours
// boomerang: on: sim
// boomerang: stderr: cuGraphInstantiateWithFlags was called 3 times
// boomerang: stderr: cuGraphLaunch was called 307 times
// boomerang: stderr: cuLaunchKernel was called 9\d times
// boomerang: stderr: cuGraphExecKernelNodeSetParams_v2 was called 2\d\d times
#include "../check.h"

int main(void) {
  int x = 0, sum = 0, many[100] = {0};
  for (int i = 0; i < 100; i++) {
#pragma omp target map(tofrom : x)
    x++;
    /* One kernel, two shapes. */
#pragma omp target teams distribute num_teams(i % 2 ? 3 : 5) map(tofrom : many)
    for (int j = 0; j < 100; j++)
      many[j] += j;
  }
  /* Memory of another size from turn to turn, so at another address. */
  for (int i = 0; i < 200; i++) {
    int count = i % 2 ? 1 : 50;
#pragma omp target map(tofrom : many[:count], sum)
    {
      many[0]++;
      sum += count;
    }
  }
  CHECK(x == 100, "x is %d", x);
  CHECK(sum == 100 * 51, "the sum is %d", sum);
  for (int j = 0; j < 100; j++)
    CHECK(many[j] == 100 * j + (j == 0 ? 200 : 0), "[%d] is %d", j, many[j]);
  return 0;
}
