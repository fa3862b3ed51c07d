// boomerang: checks: functions on the device call themselves and each other, with frames on the stack
#include "../check.h"

#pragma omp begin declare target
static unsigned ackermann(unsigned m, unsigned n) {
  if (m == 0)
    return n + 1;
  if (n == 0)
    return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}

static int is_odd(int n);
static __attribute__((noinline)) int is_even(int n) { return n == 0 ? 1 : is_odd(n - 1); }
static __attribute__((noinline)) int is_odd(int n) { return n == 0 ? 0 : is_even(n - 1); }

static __attribute__((noinline)) long sum_of_frames(int depth) {
  volatile long frame[16];
  for (int i = 0; i < 16; i++)
    frame[i] = depth;
  long below = depth ? sum_of_frames(depth - 1) : 0;
  for (int i = 0; i < 16; i++)
    below += frame[i];
  return below;
}
#pragma omp end declare target

int main(void) {
  unsigned a = 0;
  int even = 0;
  long frames = 0;
#pragma omp target map(from : a, even, frames)
  {
    a = ackermann(2, 3);
    even = is_even(9);
    frames = sum_of_frames(12);
  }
  CHECK(a == 9, "ackermann(2, 3) is %u", a);
  CHECK(even == 0, "9 is even");
  CHECK(frames == 16 * 78, "the frames held %ld", frames);
  return 0;
}
