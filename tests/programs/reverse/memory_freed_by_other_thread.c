// boomerang: checks: device memory freed and allocated by another host thread does not keep a waiting kernel's request from being served
// boomerang: sources: memory_freed_by_other_thread_host.c
// boomerang: variants: BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll | BOOMERANG_DEVICE_RUNTIME=stock
// boomerang: stock: hangs: cuMemFree waits for the kernel while libgomp holds the lock that serving needs
#include <omp.h>

#include "../check.h"

#pragma omp requires reverse_offload

void kernel_runs(void);
void wait_for_kernel(void);
void memory_was_freed(void);
void look_whether_freed(int *freed);

int main(void) {
  int device = omp_get_default_device(), requests = 0;
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0) {
#pragma omp target map(tofrom : requests)
      {
        int freed = 0, n = 0;
#pragma omp target device(ancestor : 1)
        kernel_runs();
        while (!freed) {
#pragma omp target device(ancestor : 1) map(always, tofrom : freed)
          look_whether_freed(&freed);
          n++;
        }
        requests = n;
      }
    } else {
      void *early = omp_target_alloc(1 << 20, device);
      CHECK(early, "no memory before the kernel runs");
      wait_for_kernel();
      omp_target_free(early, device);
      void *late = omp_target_alloc(1 << 20, device);
      CHECK(late, "no memory while the kernel runs");
      omp_target_free(late, device);
      memory_was_freed();
    }
  }
  CHECK(requests > 0, "the kernel made no request");
  return 0;
}
