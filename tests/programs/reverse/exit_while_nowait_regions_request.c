// boomerang: checks: a program may end while regions with nowait make requests, and in a block that one of them asked for
// boomerang: sources: exit_while_nowait_regions_request_host.c
// boomerang: exit: 7
// boomerang: variants: BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll
// boomerang: not-stderr: finalized
// boomerang: timeout: 20
#include <omp.h>

#include "../check.h"

#pragma omp requires reverse_offload

void count(int region);
void wait_for_some(void);
void linger(void);

int main(int argc, char **argv) {
  (void)argv;
  int inside = argc > 1;
  /* The end takes its time once libgomp has closed the device. */
  atexit(linger);
  for (int r = 0; r < 30; r++) {
#pragma omp target nowait firstprivate(r, inside) thread_limit(1)
    for (int i = 0; i < 100; i++) {
      int region = inside ? r : 0;
#pragma omp target device(ancestor : 1) firstprivate(region)
      count(region);
    }
  }
  wait_for_some();
  exit(7);
}
