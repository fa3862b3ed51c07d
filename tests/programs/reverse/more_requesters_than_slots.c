// boomerang: checks: thousands of threads of many teams make requests at the same time, more than there are slots, and each is served once
// boomerang: sources: more_requesters_than_slots_host.c
// boomerang: variants: BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll | BOOMERANG_DEVICE_RUNTIME=stock | GOMP_REVERSE_OFFLOAD_THREADS=1 | GOMP_REVERSE_OFFLOAD_THREADS=4
#include "../check.h"

#pragma omp requires reverse_offload

enum { TEAMS = 300, THREADS = 8, ALL = TEAMS * THREADS };

void serve(int requester, int *reply);
int served(int requester);

int main(void) {
  static int replies[ALL];
#pragma omp target teams distribute parallel for num_teams(TEAMS) num_threads(THREADS) map(from : replies)
  for (int i = 0; i < ALL; i++) {
    int reply = 0;
    for (int round = 0; round < 2; round++) {
#pragma omp target device(ancestor : 1) firstprivate(i) map(always, tofrom : reply)
      serve(i, &reply);
    }
    replies[i] = reply;
  }
  for (int i = 0; i < ALL; i++) {
    CHECK(replies[i] == 2 * (i + 7), "requester %d has the reply %d", i, replies[i]);
    CHECK(served(i) == 2, "requester %d was served %d times", i, served(i));
  }
  return 0;
}
