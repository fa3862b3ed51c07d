// boomerang: checks: abort in an asynchronous OpenACC region ends the program, once it is waited for, with a message that names the kernel
// boomerang: flags: -fno-openmp -fopenacc
// boomerang: env: ACC_DEVICE_TYPE=nvidia
// boomerang: exit: failure
// boomerang: plugins: ours
// boomerang: stderr: ^libgomp: cuStreamSynchronize error: .*main.*omp_fn.*abort
// boomerang: stderr: ^libgomp: wait on 3 failed
// boomerang: not-stderr: finalization failed
#include <stdlib.h>

int main(int argc, char **argv) {
#pragma acc parallel async(3)
  if (argc)
    abort();
#pragma acc wait(3)
  return 0;
}
