// boomerang: checks: events on a platform see the time that copies and instructions take on it, the same for the same work
// boomerang: on: sim
// boomerang: flags: -ldl
// boomerang: env: BOOMERANG_SIM_REPORT=timeline.json
// boomerang: variants: BOOMERANG_SIM_MEMOPS=0
// boomerang: stderr: ^boomerang-sim: virtual time: [0-9]+\.[0-9]{3} us$
// boomerang: stderr: ^boomerang-sim: kernel mapping\$_omp_fn\$0 on gpu0: 3 launches, 
// boomerang: stderr: ^boomerang-sim: link host -> gpu0: [0-9]+ copies, [0-9]+ bytes, 
#include "platform.h"

/* Both so large that libgomp copies them by themselves. */
enum { SMALL = 1 << 18, LARGE = 1 << 20, STEPS = 10000 };

static char data[LARGE];

/* Virtual ns of a region that maps so many bytes. */
static long mapping(int bytes) {
  void *begin = mark();
#pragma omp target map(tofrom : data[0 : bytes])
  data[0]++;
  return between(begin, mark());
}

/* Virtual ns of a region that counts so far. */
static long counting(int to) {
  void *begin = mark();
  int sum = 0;
#pragma omp target map(tofrom : sum)
  for (int i = 0; i < to; i++)
    sum = (sum + i) * 3 % 1000;
  long time = between(begin, mark());
  CHECK(sum >= 0, "counted to %d", sum);
  return time;
}

int main(void) {
  use_platform(DEVICE RATE LINKS);
#pragma omp target
  ;
  enter_context();
  mapping(SMALL);
  counting(STEPS);

  /* Each byte crosses the link twice, at 10 a ns. */
  long small = mapping(SMALL), large = mapping(LARGE), copies = (LARGE - SMALL) * 2L / 10;
  CHECK(large - small >= copies - 2 && large - small <= copies + 2, "%d more bytes take %ld ns, not %ld",
        LARGE - SMALL, large - small, copies);

  long once = counting(STEPS), again = counting(STEPS);
  CHECK(once == again, "the same work takes %ld ns and then %ld ns", once, again);
  return 0;
}
