// boomerang: checks: locks, atomics with an order, critical sections, barriers, single, ordered, tasks and reductions are no data races
// boomerang: flags: -g
// boomerang: device-flags: -latomic
// boomerang: on: sim
// boomerang: env: BOOMERANG_SIM_CHECK=races,uninitialized
// boomerang: seeds: 5
#include "../check.h"
#include <omp.h>

#define N 64

static int flag, message, total;
#pragma omp declare target enter(flag, message, total)

int main(void) {
  int sum = 0, most = 0, order = 0, done = 0, shared = 0, received = 0;
  int a[N] = {0};
  char bytes[N] = {0};
#pragma omp target map(tofrom : sum, most, order, done, shared, received, a, bytes)
  {
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel num_threads(4)
    {
      int me = omp_get_thread_num();
      omp_set_lock(&lock);
      done++;
      omp_unset_lock(&lock);
#pragma omp critical
      shared += me;
#pragma omp for reduction(+ : sum) reduction(max : most) schedule(dynamic, 3)
      for (int i = 0; i < N; i++) {
        sum += i;
        most = i > most ? i : most;
        a[i] = i;
        bytes[i] = i;
      }
#pragma omp for
      for (int i = 0; i < N; i++)
        a[i] += bytes[N - 1 - i];
#pragma omp single
      {
        for (int i = 0; i < 8; i++)
#pragma omp task depend(inout : a[0]) firstprivate(i)
          a[0] += i;
#pragma omp taskwait
        a[1] = a[0];
      }
#pragma omp for ordered
      for (int i = 0; i < 8; i++)
#pragma omp ordered
        order = order * 2 + (i & 1);
      if (me == 0) {
        message = 42;
#pragma omp atomic write release
        flag = 1;
      } else if (me == 1) {
        int seen;
        do {
#pragma omp atomic read acquire
          seen = flag;
        } while (!seen);
        received = message;
      }
#pragma omp atomic
      total += me;
    }
#pragma omp parallel for simd num_threads(4)
    for (int i = 0; i < N; i++)
      a[i] *= 2;
  }
  CHECK(sum == 2016 && most == 63 && done == 4 && shared == 6 && received == 42 && order == 85,
        "sum %d, most %d, done %d, shared %d, received %d, order %d", sum, most, done, shared, received, order);
  CHECK(a[1] == 2 * (63 + 28), "a[1] is %d", a[1]);
  return 0;
}
