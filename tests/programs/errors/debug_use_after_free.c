// boomerang: checks: an access to freed memory is reported with who allocated and who freed it
// boomerang: flags: -g
// boomerang: on: sim
// boomerang: env: BOOMERANG_POOL=off
// boomerang: exit: failure
// boomerang: stderr: illegal address \(use after free\)$
// boomerang: stderr: ^  at [^ ]*debug_use_after_free\.c:25 in 
// boomerang: stderr: ^  8 bytes write at 0x[0-9a-f]+, 80 bytes inside device memory of device 0: 800 bytes at 0x
// boomerang: stderr: ^  allocated by omp_target_alloc in main, [^ ]*debug_use_after_free\.c:20$
// boomerang: stderr: ^  freed by omp_target_free in drop, [^ ]*debug_use_after_free\.c:15$
#include "../check.h"
#include <omp.h>

static void drop(double *p, int device) {
  omp_target_free(p, device);
}

int main(void) {
  int device = omp_get_default_device();
  double *p = omp_target_alloc(800, device);
  drop(p, device);
  // Allocations of the same size do not get the freed addresses at once.
  double *q = omp_target_alloc(800, device);
#pragma omp target is_device_ptr(p)
  p[10] = 1;
  CHECK(0, "freed memory was written, %s", p == q ? "that of another" : "nobody's");
}
