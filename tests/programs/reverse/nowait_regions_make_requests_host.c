/* The host's part of nowait_regions_make_requests.c. */
#include <sched.h>

static _Atomic int served[64], inside[64], most[64], all;

void answer(int region, int request, long *reply) {
  int now = ++inside[region];
  if (now > most[region])
    most[region] = now;
  sched_yield();
  served[region]++;
  *reply = 1000L * region + request;
  inside[region]--;
  all++;
}

int answered(int region) { return served[region]; }

int most_at_once(int region) { return most[region]; }

void wait_for_all(int requests) {
  while (all < requests)
    sched_yield();
}
