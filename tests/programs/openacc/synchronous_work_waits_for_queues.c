// boomerang: checks: copies and regions that are not asynchronous come after what was enqueued before
// boomerang: flags: -fno-openmp -fopenacc
// boomerang: env: ACC_DEVICE_TYPE=nvidia
#include <openacc.h>

#include "../check.h"

enum { N = 1000 };
static int a[N], b[N];

int main(void) {
#pragma acc data create(a, b)
  for (int round = 0; round < 20; round++) {
#pragma acc parallel loop gang num_gangs(1) vector_length(32) async(1)
    for (int i = 0; i < N; i++) {
      int value = round;
#pragma acc loop seq
      for (int k = 0; k < 200; k++)
        value = value * 3 % 1009 + (k < 0);
      a[i] = value - value + round + i;
    }
#pragma acc parallel loop
    for (int i = 0; i < N; i++)
      b[i] = a[i] + 1;
#pragma acc update self(a, b)
    for (int i = 0; i < N; i++)
      CHECK(a[i] == round + i && b[i] == a[i] + 1, "round %d: a[%d] is %d, b is %d", round, i, a[i], b[i]);
  }
  return 0;
}
