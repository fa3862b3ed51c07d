// boomerang: checks: an access to memory that device code has freed is reported with the place of the free
// boomerang: flags: -g -Wno-use-after-free
// boomerang: on: sim
// boomerang: env: BOOMERANG_PTX_OPT=direct,prune,fences
// boomerang: exit: failure
// boomerang: stderr: illegal address \(use after free\)$
// boomerang: stderr: ^  at [^ ]*debug_use_after_free_in_kernel\.c:21 in 
// boomerang: stderr: inside device heap block of device 0: 
// boomerang: stderr: ^  freed by kernel main\$_omp_fn\$0 at [^ ]*debug_use_after_free_in_kernel\.c:19 in 
#include "../check.h"

int main(void) {
  int sum = 0;
#pragma omp target map(tofrom : sum)
  {
    int *p = malloc(10 * sizeof *p);
    for (int i = 0; i < 10; i++)
      p[i] = i;
    free(p);
    for (volatile int i = 0; i < 10; i++)
      sum += p[i];
  }
  CHECK(0, "freed memory was read, the sum is %d", sum);
}
