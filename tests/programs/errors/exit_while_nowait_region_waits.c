// boomerang: checks: a program may end while a region with nowait waits for the host, which does no more
// boomerang: exit: 3
// boomerang: env: BOOMERANG_SIM_DEADLOCK_MS=60000
// boomerang: stock: hangs: it waits for the region before it goes on
// boomerang: timeout: 30
#include <omp.h>

#include "../check.h"

int main(void) {
  int device = omp_get_default_device(), host = omp_get_initial_device(), zero = 0;
  int *flag = omp_target_alloc(sizeof *flag, device);
  CHECK(flag && omp_target_memcpy(flag, &zero, sizeof zero, 0, 0, device, host) == 0, "no memory");
#pragma omp target is_device_ptr(flag) nowait thread_limit(1)
  {
    int set;
    do {
#pragma omp atomic read
      set = *flag;
    } while (!set);
  }
  exit(3);
}
