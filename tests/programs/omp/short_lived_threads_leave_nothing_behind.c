// boomerang: checks: hundreds of host threads that run regions and end leave no threads, files, streams or memory behind
// boomerang: flags: -pthread -ldl
// boomerang: env: OMP_WAIT_POLICY=passive
// boomerang: variants: BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll
// boomerang: timeout: 120
// boomerang: gpu: alone
#include <omp.h>
#include <pthread.h>

#include "../check.h"
#include "../usage.h"

enum { AT_ONCE = 8, THREADS = 400, ROUNDS = 8, KIB = 128 };

/* One region that the thread waits for, one that it waits for later, and one that its end waits for. */
static void *short_lived(void *result) {
  int *x = result;
#pragma omp target map(tofrom : x[0])
  x[0]++;
#pragma omp target map(tofrom : x[1]) nowait
  x[1]++;
#pragma omp taskwait
#pragma omp target map(tofrom : x[2]) nowait
  x[2]++;
  return 0;
}

static void run(int n) {
  for (int done = 0; done < n; done += AT_ONCE) {
    pthread_t threads[AT_ONCE];
    int results[AT_ONCE][3] = {{0}};
    for (int t = 0; t < AT_ONCE; t++)
      CHECK(pthread_create(&threads[t], 0, short_lived, results[t]) == 0, "no thread");
    for (int t = 0; t < AT_ONCE; t++) {
      CHECK(pthread_join(threads[t], 0) == 0, "join");
      int *x = results[t];
      CHECK(x[0] == 1 && x[1] == 1 && x[2] == 1, "thread %d got %d, %d and %d", done + t, x[0], x[1], x[2]);
    }
  }
}

int main(void) {
  CHECK(omp_get_num_devices() > 0, "no device");
  run(THREADS);
  /* What is kept for the next region grows with the regions that run at once, so at times. What is left behind grows each time. */
  struct usage before = usage(), after;
  for (int round = 0;; round++, before = after) {
    run(THREADS);
    after = usage();
    if (after.files <= before.files && after.threads <= before.threads && after.kib <= before.kib + KIB &&
        after.device_kib <= before.device_kib)
      return 0;
    CHECK(round < ROUNDS, "%d threads took from " USAGE " to " USAGE, THREADS, USAGE_OF(before), USAGE_OF(after));
  }
}
