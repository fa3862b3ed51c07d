// boomerang: checks: host threads run regions on queues of their own, and without any, at once
// boomerang: flags: -fno-openmp -fopenacc
// boomerang: env: ACC_DEVICE_TYPE=nvidia
#include <openacc.h>
#include <pthread.h>

#include "../check.h"

enum { THREADS = 4, N = 1000, ROUNDS = 20 };
static int a[THREADS][N];

static void *work(void *number) {
  int t = *(int *)number, *mine = a[t];
#pragma acc data copy(mine[:N])
  {
    for (int round = 0; round < ROUNDS; round++) {
#pragma acc parallel loop present(mine[:N]) async(t)
      for (int i = 0; i < N; i++)
        mine[i] += t;
#pragma acc wait(t)
#pragma acc parallel loop present(mine[:N])
      for (int i = 0; i < N; i++)
        mine[i] += 1;
    }
  }
  return 0;
}

int main(void) {
  pthread_t threads[THREADS];
  int numbers[THREADS];
  /* The stock plugin needs a context on the thread that ends the program. */
  acc_init(acc_device_nvidia);
  for (int t = 0; t < THREADS; t++) {
    numbers[t] = t;
    CHECK(!pthread_create(&threads[t], 0, work, &numbers[t]), "no thread");
  }
  for (int t = 0; t < THREADS; t++)
    pthread_join(threads[t], 0);
  for (int t = 0; t < THREADS; t++)
    for (int i = 0; i < N; i++)
      CHECK(a[t][i] == ROUNDS * (t + 1), "a[%d][%d] is %d", t, i, a[t][i]);
  return 0;
}
