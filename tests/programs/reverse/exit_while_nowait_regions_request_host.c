/* The host's part of exit_while_nowait_regions_request.c: a block of region 3 ends the program. */
#include <sched.h>
#include <stdlib.h>

static _Atomic int blocks, ending;

void count(int region) {
  blocks++;
  if (region == 3 && !ending++)
    exit(7);
}

void wait_for_some(void) {
  while (blocks < 20)
    sched_yield();
  while (ending)
    sched_yield();
}
