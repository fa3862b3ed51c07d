// boomerang: checks: what is enqueued on one queue is done in order, and done when the queue was waited for
// boomerang: flags: -fno-openmp -fopenacc
// boomerang: env: ACC_DEVICE_TYPE=nvidia
#include <openacc.h>

#include "../check.h"

enum { QUEUES = 4, N = 4096, STEPS = 10 };
static int a[QUEUES][N];

int main(void) {
  for (int q = 0; q < QUEUES; q++) {
#pragma acc enter data create(a[q:1]) async(q)
  }
  for (int q = 0; q < QUEUES; q++)
    for (int i = 0; i < N; i++)
      a[q][i] = q;
  for (int q = 0; q < QUEUES; q++) {
#pragma acc update device(a[q:1]) async(q)
  }
  for (int step = 0; step < STEPS; step++)
    for (int q = 0; q < QUEUES; q++) {
#pragma acc parallel loop present(a[q:1]) async(q)
      for (int i = 0; i < N; i++)
        a[q][i] = a[q][i] * 3 + 1;
    }
  for (int q = 0; q < QUEUES; q++) {
#pragma acc exit data copyout(a[q:1]) async(q)
  }
  for (int q = 0; q < QUEUES; q++) {
    int expected = q;
    for (int step = 0; step < STEPS; step++)
      expected = expected * 3 + 1;
#pragma acc wait(q)
    CHECK(acc_async_test(q), "queue %d is not done after a wait", q);
    for (int i = 0; i < N; i++)
      CHECK(a[q][i] == expected, "a[%d][%d] is %d, not %d", q, i, a[q][i], expected);
  }
  acc_wait_all();
  CHECK(acc_async_test_all(), "not all queues are done");
  return 0;
}
