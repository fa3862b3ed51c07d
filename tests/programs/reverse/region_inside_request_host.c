/* The host's part of region_inside_request.c. */
#include <omp.h>

#include "../check.h"

#pragma omp requires reverse_offload

void triple_on_device(int *x) {
  int v = *x, on_host = 1;
#pragma omp target map(tofrom : v) map(from : on_host)
  {
    v *= 3;
    on_host = omp_is_initial_device();
  }
  CHECK(!on_host, "the inner region ran on the host");
  *x = v;
}
