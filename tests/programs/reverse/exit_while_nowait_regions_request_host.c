/* The host's part of exit_while_nowait_regions_request.c: a block of the last region ends the program: who launches regions while
   exit runs is told by libgomp that there is no device any more. */
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

static _Atomic int blocks, ending;

void count(int region) {
  blocks++;
  if (region == 29 && !ending++)
    exit(7);
}

void wait_for_some(void) {
  while (blocks < 20)
    sched_yield();
  while (ending)
    sched_yield();
}

void linger(void) { usleep(200000); }
