// boomerang: checks: all threads of a team make requests at once, inside a parallel region: each thread gets its own replies
// boomerang: sources: threads_of_a_team_request_host.c
// boomerang: variants: BOOMERANG_DEVICE_RUNTIME=stock | GOMP_REVERSE_OFFLOAD_THREADS=1 | GOMP_REVERSE_OFFLOAD_THREADS=4 BOOMERANG_WAIT=poll
#include <omp.h>

#include "../check.h"

#pragma omp requires reverse_offload

enum { THREADS = 8, REQUESTS = 25 };

void square(int thread, int request, int *reply);
int calls(int thread);

int main(void) {
  int wrong[THREADS], threads = 0;
  for (int t = 0; t < THREADS; t++)
    wrong[t] = -1;

#pragma omp target map(tofrom : wrong) map(from : threads)
  {
#pragma omp parallel num_threads(THREADS)
    {
      int me = omp_get_thread_num(), errors = 0;
      if (me == 0)
        threads = omp_get_num_threads();
      for (int i = 0; i < REQUESTS; i++) {
        int reply = -1;
#pragma omp target device(ancestor : 1) firstprivate(me, i) map(always, tofrom : reply)
        square(me, i, &reply);
        if (reply != (me + i) * (me + i))
          errors++;
      }
      wrong[me] = errors;
    }
  }

  CHECK(threads == THREADS, "%d threads ran", threads);
  for (int t = 0; t < THREADS; t++) {
    CHECK(wrong[t] == 0, "thread %d got %d wrong replies", t, wrong[t]);
    CHECK(calls(t) == REQUESTS, "%d requests of thread %d were served", calls(t), t);
  }
  return 0;
}
