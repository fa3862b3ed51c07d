// boomerang: checks: a served block may launch regions with nowait that make requests, and wait for them, to any depth and from several threads
// boomerang: sources: nowait_regions_inside_requests_host.c
// boomerang: seeds: 8
// boomerang: variants: BOOMERANG_WAIT=spin | BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll | GOMP_REVERSE_OFFLOAD_THREADS=1 | CUDA_DEVICE_MAX_CONNECTIONS=3
// boomerang: stock: hangs: a region inside a request waits for the one that made it
// boomerang: timeout: 120
#include <omp.h>

#include "../check.h"

#pragma omp requires reverse_offload

void spread(int depth);
int blocks(void);

/* A region whose only request spreads into WIDTH more. */
void launch(int depth) {
#pragma omp target nowait firstprivate(depth) thread_limit(1)
  {
#pragma omp target device(ancestor : 1) firstprivate(depth)
    spread(depth);
  }
}

int main(void) {
  enum { FIRST = 30 };
  CHECK(omp_get_num_devices() > 0, "no device");
  /* More than there are queues: each waits for others in its block. */
  for (int i = 0; i < FIRST; i++)
    launch(1);
#pragma omp taskwait
  CHECK(blocks() == FIRST * 3, "%d blocks", blocks());
  /* A deep one. */
  launch(5);
#pragma omp taskwait
  CHECK(blocks() == FIRST * 3 + 63, "%d blocks", blocks());
  return 0;
}
