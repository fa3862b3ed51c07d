// boomerang: checks: the iterations of a parallel loop are each done once, on the device
// boomerang: flags: -fno-openmp -fopenacc
// boomerang: env: ACC_DEVICE_TYPE=nvidia
#include <openacc.h>

#include "../check.h"

enum { N = 10000 };
static float x[N], y[N];

int main(void) {
  int on_host = 1;
  for (int i = 0; i < N; i++) {
    x[i] = i;
    y[i] = 1;
  }
#pragma acc parallel loop copyin(x) copy(y)
  for (int i = 0; i < N; i++)
    y[i] += 2 * x[i];
#pragma acc kernels copyout(on_host)
  on_host = acc_on_device(acc_device_host);
  for (int i = 0; i < N; i++)
    CHECK(y[i] == 2 * i + 1, "y[%d] is %g", i, y[i]);
  CHECK(!on_host, "the region ran on the host");
  return 0;
}
