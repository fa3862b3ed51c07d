// boomerang: checks: of 8 host threads in regions with requests at once, each gets all of its own answers and nobody else's
// boomerang: sources: host_threads_at_once_host.c
// boomerang: args: 8
// boomerang: variants: BOOMERANG_WAIT=spin | BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll | CUDA_DEVICE_MAX_CONNECTIONS=1 | CUDA_DEVICE_MAX_CONNECTIONS=2 | BOOMERANG_SIM_MEMOPS=0 | BOOMERANG_DEVICE_RUNTIME=stock | BOOMERANG_DEVICE_RUNTIME=stock BOOMERANG_WAIT=block | GOMP_REVERSE_OFFLOAD_THREADS=2
// boomerang: stock: hangs: the regions of a device share one request word, and any region may take another's reply
#include <omp.h>

#include "../check.h"

#pragma omp requires reverse_offload

void answer(int thread, int request, long *reply);
int answered(int thread);

enum { REQUESTS = 40, MAX_THREADS = 64 };

int main(int argc, char **argv) {
  int threads = argc > 1 ? atoi(argv[1]) : 0;
  int wrong[MAX_THREADS];
  CHECK(threads >= 1 && threads <= MAX_THREADS, "argument: the number of host threads");
  /* Before there are threads: they inherit a default device only if libgomp has looked for devices already. */
  CHECK(omp_get_num_devices() > 0, "no device");

#pragma omp parallel num_threads(threads)
  {
    int me = omp_get_thread_num(), errors = 0;
#pragma omp barrier
#pragma omp target map(tofrom : errors) firstprivate(me)
    for (int i = 0; i < REQUESTS; i++) {
      long reply = -1;
#pragma omp target device(ancestor : 1) firstprivate(me, i) map(always, tofrom : reply)
      answer(me, i, &reply);
      if (reply != 1000L * me + i)
        errors++;
    }
    wrong[me] = errors;
  }

  for (int t = 0; t < threads; t++) {
    CHECK(wrong[t] == 0, "thread %d got %d wrong answers", t, wrong[t]);
    CHECK(answered(t) == REQUESTS, "%d requests served for thread %d", answered(t), t);
  }
  return 0;
}
