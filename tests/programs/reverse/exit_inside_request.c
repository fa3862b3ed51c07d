// boomerang: checks: exit() called by a served block ends the program at once, with the status given
// boomerang: sources: exit_inside_request_host.c
// boomerang: exit: 7
// boomerang: stdout: ^exit handler ran$
// boomerang: timeout: 20
// boomerang: stock: hangs: closing the device waits for the kernel that waits for the request
// boomerang: variants: BOOMERANG_DEVICE_RUNTIME=stock | GOMP_REVERSE_OFFLOAD_THREADS=2
#include "../check.h"

#pragma omp requires reverse_offload

void leave(int status);

static void handler(void) {
  puts("exit handler ran");
  fflush(stdout);
}

int main(void) {
  atexit(handler);
#pragma omp target
  {
#pragma omp target device(ancestor : 1)
    leave(7);
  }
  CHECK(0, "the region ended although the host had called exit()");
}
