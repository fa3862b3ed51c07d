// boomerang: checks: a served block launches a region of its own on the same device while the outer kernel waits for it
// boomerang: sources: region_inside_request_host.c
// boomerang: variants: BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll | BOOMERANG_DEVICE_RUNTIME=stock | GOMP_REVERSE_OFFLOAD_THREADS=2
// boomerang: stock: hangs: the inner kernel is queued behind the outer one, which waits for it
#include "../check.h"

#pragma omp requires reverse_offload

void triple_on_device(int *x);

int main(void) {
  int x = 7;
#pragma omp target map(tofrom : x)
  {
    int v = x;
    for (int i = 0; i < 5; i++) {
#pragma omp target device(ancestor : 1) map(always, tofrom : v)
      triple_on_device(&v);
    }
    x = v;
  }
  CHECK(x == 7 * 3 * 3 * 3 * 3 * 3, "five triplings of 7 gave %d", x);
  return 0;
}
