// boomerang: checks: a small overrun, to either side, never lands in the allocation next to it
// boomerang: flags: -g
// boomerang: on: sim
// boomerang: exit: failure
// boomerang: args: 1024
// boomerang: stderr: illegal address \(out of bounds\)$
// boomerang: stderr: ^  at [^ ]*debug_overrun_between_allocations\.c:20 in 
// boomerang: stderr: ^  1 bytes write at 0x[0-9a-f]+, 0 bytes behind device memory of device 0: 1024 bytes at 0x
// boomerang: stderr: ^  allocated by omp_target_alloc in main, [^ ]*debug_overrun_between_allocations\.c:17$
#include "../check.h"
#include <omp.h>

int main(int argc, char **argv) {
  int device = omp_get_default_device(), at = atoi(argv[1]);
  char *blocks[8];
  for (int i = 0; i < 8; i++)
    blocks[i] = omp_target_alloc(1024, device);
  char *block = blocks[4];
#pragma omp target is_device_ptr(block) firstprivate(at)
  block[at] = 1;
  CHECK(0, "byte %d of 1024 was written, by %d arguments", at, argc);
}
