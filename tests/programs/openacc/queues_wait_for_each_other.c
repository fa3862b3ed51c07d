// boomerang: checks: a queue goes on only when those that it waits for are done
// boomerang: flags: -fno-openmp -fopenacc
// boomerang: env: ACC_DEVICE_TYPE=nvidia
#include <openacc.h>

#include "../check.h"

enum { N = 2000, ROUNDS = 20 };
static int a[N], b[N];

int main(void) {
#pragma acc data create(a, b)
  {
#pragma acc parallel loop async(1)
    for (int i = 0; i < N; i++)
      a[i] = i;
    for (int round = 0; round < ROUNDS; round++) {
#pragma acc parallel loop wait(1) async(2)
      for (int i = 0; i < N; i++)
        b[i] = a[N - 1 - i] + 1;
      acc_wait_async(2, 1);
#pragma acc parallel loop async(1)
      for (int i = 0; i < N; i++)
        a[i] = b[N - 1 - i] + 1;
    }
    acc_wait_all_async(3);
#pragma acc update self(a) async(3)
    acc_wait(3);
  }
  for (int i = 0; i < N; i++)
    CHECK(a[i] == i + 2 * ROUNDS, "a[%d] is %d", i, a[i]);
  return 0;
}
