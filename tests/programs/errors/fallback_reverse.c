// boomerang: checks: a program that requires reverse offload runs on the device, and stderr stays empty
// boomerang: sources: fallback_reverse_host.c
// boomerang: env: OMP_TARGET_OFFLOAD=default
// boomerang: stdout: ^ran on the device$
// boomerang: stderr-lines: 0
#include <omp.h>

#include "../check.h"

#pragma omp requires reverse_offload

void add_one(int *x);

int main(void) {
  int on_host = -1, x = 1;
#pragma omp target map(from : on_host) map(tofrom : x)
  {
    on_host = omp_is_initial_device();
#pragma omp target device(ancestor : 1) map(always, tofrom : x)
    add_one(&x);
  }
  CHECK(x == 2, "x is %d", x);
  puts(on_host ? "ran on the host" : "ran on the device");
  return 0;
}
