// boomerang: checks: device code that frees the host's memory fails, with a message that names the kernel
// boomerang: variants: BOOMERANG_PTX_OPT=0 | BOOMERANG_HEAP_CHECK=1
// boomerang: on: sim
// boomerang: exit: failure
// boomerang: stderr: (main.*omp_fn|cuCtxSynchronize|cuLaunchKernel|error)
#include "../check.h"

int main(void) {
  char *host = malloc(100);
  long address = (long)host;
#pragma omp target
  free((void *)address);
  return 0;
}
