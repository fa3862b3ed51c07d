// boomerang: checks: regions with nowait run at the same time as each other and as the host, which lets them go on
// boomerang: stock: hangs: it ignores nowait, so the first region waits for the others
// boomerang: seeds: 4
// boomerang: variants: BOOMERANG_WAIT=spin | BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll | CUDA_DEVICE_MAX_CONNECTIONS=1 | BOOMERANG_SIM_MEMOPS=0
#include <omp.h>

#include "../check.h"

enum { REGIONS = 8 };

int main(void) {
  int device = omp_get_default_device(), host = omp_get_initial_device();
  int zeros[2] = {0}, one = 1, met[REGIONS] = {0};
  int *shared = omp_target_alloc(sizeof zeros, device);
  CHECK(shared, "no memory");
  CHECK(omp_target_memcpy(shared, zeros, sizeof zeros, 0, 0, device, host) == 0, "copy");
  for (int i = 0; i < REGIONS; i++) {
#pragma omp target nowait is_device_ptr(shared) map(from : met[i]) firstprivate(i) thread_limit(1)
    {
      int there, let_go;
#pragma omp atomic
      shared[0]++;
      do {
#pragma omp atomic read
        there = shared[0];
#pragma omp atomic read
        let_go = shared[1];
      } while (there < REGIONS || !let_go);
      met[i] = there;
    }
  }
  CHECK(omp_target_memcpy(shared + 1, &one, sizeof one, 0, 0, device, host) == 0, "copy");
#pragma omp taskwait
  for (int i = 0; i < REGIONS; i++)
    CHECK(met[i] == REGIONS, "region %d met %d", i, met[i]);
  omp_target_free(shared, device);
  return 0;
}
