// boomerang: checks: where every kernel must have a cost, one that has none is not launched, and its name is told
// boomerang: on: sim
// boomerang: flags: -ldl
// boomerang: exit: failure
// boomerang: stdout: ^the first region ran$
// boomerang: stderr: ^boomerang-sim: kernel main\$_omp_fn\$1 has no cost: platform.toml has no time for it and no instructions_per_second for gpu0$
#include "platform.h"

int main(void) {
  use_platform("require_costs = true\n" DEVICE LINKS "[kernels]\n\"main$_omp_fn$0\" = 3\n");
  int sum = 1;
#pragma omp target map(tofrom : sum)
  sum++;
  CHECK(sum == 2, "%d", sum);
  puts("the first region ran");
  fflush(stdout);
#pragma omp target map(tofrom : sum)
  sum++;
  return 0;
}
