// boomerang: measures: the CPU time that the host spends while a kernel runs for 200 ms and could make requests, but doesn't
// boomerang: sources: idle_cpu_host.c
// boomerang: variants: BOOMERANG_WAIT=spin | BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll
#include "bench.h"

#pragma omp requires reverse_offload

void never_called(void);

static unsigned long compute(long steps) {
  int ask = 0;
  unsigned long x = 1;
#pragma omp target firstprivate(steps, ask) map(tofrom : x)
  {
    /* Something that the driver's compiler can't do in one step. */
    unsigned long y = x;
    for (long i = 0; i < steps; i++)
      y = (y ^ (y >> 7)) * 6364136223846793005UL + 1442695040888963407UL;
    x = y;
    if (ask) {
#pragma omp target device(ancestor : 1)
      never_called();
    }
  }
  return x;
}

int main(void) {
  long steps = 1000;
  double wall = 0, cpu = 0;
  compute(steps);
  /* Find how many steps take 200 ms. */
  do {
    steps *= 2;
    wall = now();
    compute(steps);
    wall = now() - wall;
  } while (wall < 20e3 && steps < 1L << 32);
  steps = (long)((double)steps * 200e3 / wall);

  double best = 1e12;
  for (int round = 0; round < 5; round++) {
    cpu = cpu_now();
    wall = now();
    compute(steps);
    wall = now() - wall;
    cpu = cpu_now() - cpu;
    double scaled = cpu * 200e3 / wall * 1e-3;
    if (scaled < best)
      best = scaled;
  }
  report("idle-cpu-200ms", best, "ms");
  return 0;
}
