// boomerang: checks: a request is served by the host thread that launched the region: it sees that thread's id and thread-local data
// boomerang: sources: serving_thread_is_launching_thread_host.c
// boomerang: variants: BOOMERANG_DEVICE_RUNTIME=stock
#define _GNU_SOURCE
#include <omp.h>
#include <unistd.h>

#include "../check.h"

#pragma omp requires reverse_offload

void look_around(long *tid, int *secret);
void set_secret(int value);

int main(void) {
  /* Before there are threads: they inherit a default device only if libgomp has looked for devices already. */
  CHECK(omp_get_num_devices() > 0, "no device");
#pragma omp parallel num_threads(2)
  {
    int me = omp_get_thread_num();
    set_secret(100 + me);
    /* One thread after the other: two at once is another program's business. */
#pragma omp critical
    for (int round = 0; round < 10; round++) {
      long tid = -1;
      int secret = -1;
#pragma omp target map(from : tid, secret)
      {
        long server = 0;
        int found = 0;
#pragma omp target device(ancestor : 1) map(always, tofrom : server, found)
        look_around(&server, &found);
        tid = server;
        secret = found;
      }
      CHECK(tid == gettid(), "thread %ld served a region of thread %ld", tid, (long)gettid());
      CHECK(secret == 100 + me, "thread-local data was %d, thread %d set %d", secret, me, 100 + me);
    }
  }
  return 0;
}
