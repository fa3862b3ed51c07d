// boomerang: checks: GOMP_OPENACC_DIM sets what a region's clauses leave open
// boomerang: flags: -fno-openmp -fopenacc
// boomerang: env: ACC_DEVICE_TYPE=nvidia
// boomerang: env: GOMP_DEBUG=1 GOMP_OPENACC_DIM=7:3
// boomerang: stderr: nvptx_exec: kernel main\$_omp_fn\$0: launch gangs=7, workers=3, vectors=32$
// boomerang: stderr: nvptx_exec: kernel main\$_omp_fn\$1: launch gangs=2, workers=3, vectors=32$
#include <openacc.h>

#include "../check.h"

int main(void) {
  int sum = 0;
#pragma acc parallel loop gang worker vector reduction(+ : sum)
  for (int i = 0; i < 1000; i++)
    sum += i;
  CHECK(sum == 499500, "the sum is %d", sum);
#pragma acc parallel loop gang worker vector num_gangs(2) reduction(+ : sum)
  for (int i = 0; i < 1000; i++)
    sum += i;
  CHECK(sum == 2 * 499500, "the sum is %d", sum);
  return 0;
}
