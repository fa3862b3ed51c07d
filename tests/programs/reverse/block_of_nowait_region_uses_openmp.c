// boomerang: checks: a block that a region with nowait asks for may run parallel regions, tasks and target regions of its own
// boomerang: sources: block_of_nowait_region_uses_openmp_host.c
// boomerang: stock: hangs: a region inside a request waits for the one that made it
// boomerang: variants: BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll
#include <omp.h>

#include "../check.h"

#pragma omp requires reverse_offload

void sum_of_squares(int n, long *sum);

int main(void) {
  enum { REGIONS = 4 };
  long sums[REGIONS] = {0};
  for (int r = 0; r < REGIONS; r++) {
#pragma omp target nowait map(from : sums[r]) firstprivate(r)
    {
      long sum = 0;
#pragma omp target device(ancestor : 1) firstprivate(r) map(always, tofrom : sum)
      sum_of_squares(10 * (r + 1), &sum);
      sums[r] = sum;
    }
  }
#pragma omp taskwait
  for (int r = 0; r < REGIONS; r++) {
    long n = 10 * (r + 1), expected = n * (n + 1) * (2 * n + 1) / 6;
    CHECK(sums[r] == expected, "region %d got %ld, not %ld", r, sums[r], expected);
  }
  return 0;
}
