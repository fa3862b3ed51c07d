// boomerang: checks: an OpenACC region with more threads in a gang than a block can have ends the program with a message
// boomerang: flags: -fno-openmp -fopenacc
// boomerang: env: ACC_DEVICE_TYPE=nvidia GOMP_OPENACC_DIM=:40
// boomerang: exit: failure
// boomerang: stderr: The Nvidia accelerator has insufficient resources to launch 'main.*omp_fn.*40
#include <stdio.h>

int main(void) {
  int sum = 0;
#pragma acc parallel loop gang worker vector reduction(+ : sum)
  for (int i = 0; i < 1000; i++)
    sum += i;
  printf("%d\n", sum);
  return 0;
}
