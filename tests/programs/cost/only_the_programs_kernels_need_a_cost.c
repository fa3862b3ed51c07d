// boomerang: checks: where every kernel must have a cost, those that the plugin launches by itself need none and take no time
// boomerang: on: sim
// boomerang: flags: -ldl
// boomerang: plugins: ours
#include "platform.h"

#pragma omp requires reverse_offload

int main(void) {
  use_platform("require_costs = true\n" DEVICE LINKS "[kernels]\n\"main$_omp_fn$0\" = 3\n\"main$_omp_fn$1\" = 3\n");
  int sum = 1;
#pragma omp target map(tofrom : sum)
  {
    sum++;
    /* With this the plugin has the driver get ready for kernels that print. */
    if (sum < 0)
      printf("%d\n", sum);
#pragma omp target device(ancestor : 1) map(always, tofrom : sum)
    sum++;
  }
  CHECK(sum == 3, "%d", sum);
  return 0;
}
