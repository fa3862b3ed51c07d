// boomerang: checks: abort in an OpenACC region ends the program with a message that names the kernel
// boomerang: flags: -fno-openmp -fopenacc
// boomerang: env: ACC_DEVICE_TYPE=nvidia
// boomerang: exit: failure
// boomerang: plugins: ours
// boomerang: stderr: ^libgomp: cuStreamSynchronize error: .*main.*omp_fn.*abort
#include <stdlib.h>

int main(void) {
#pragma acc parallel
  abort();
  return 0;
}
