// boomerang: checks: with a device at hand the region runs on it and stderr stays empty
// boomerang: env: OMP_TARGET_OFFLOAD=default
// boomerang: stdout: ^ran on the device$
// boomerang: stderr-lines: 0
#include <omp.h>

#include "../check.h"

int main(void) {
  int on_host = -1, data[100], sum = 0;
  for (int i = 0; i < 100; i++)
    data[i] = i;
#pragma omp target map(from : on_host) map(tofrom : sum) map(to : data)
  {
    on_host = omp_is_initial_device();
    for (int i = 0; i < 100; i++)
      sum += data[i];
  }
  CHECK(sum == 4950, "sum is %d", sum);
  puts(on_host ? "ran on the host" : "ran on the device");
  return 0;
}
