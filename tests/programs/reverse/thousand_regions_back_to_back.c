// boomerang: checks: a thousand regions in a row, each with one request, are all served and in order
// boomerang: sources: thousand_regions_back_to_back_host.c
// boomerang: variants: BOOMERANG_DEVICE_RUNTIME=stock | GOMP_REVERSE_OFFLOAD_THREADS=2
#include <omp.h>

#include "../check.h"

#pragma omp requires reverse_offload

void successor(int *x);

int main(void) {
  for (int i = 0; i < 1000; i++) {
    int x = -1;
#pragma omp target map(from : x) firstprivate(i)
    {
      int v = i;
#pragma omp target device(ancestor : 1) map(always, tofrom : v)
      successor(&v);
      x = v;
    }
    CHECK(x == i + 1, "region %d got %d", i, x);
  }
  return 0;
}
