// boomerang: checks: lanes of a simd loop that branch, loop and call differently all finish their own work
#include "../check.h"

#pragma omp begin declare target
static __attribute__((noinline)) int collatz(int n) {
  int steps = 0;
  while (n != 1) {
    n = n % 2 ? 3 * n + 1 : n / 2;
    steps++;
  }
  return steps;
}
#pragma omp end declare target

int main(void) {
  enum { N = 300 };
  int device[N], total = 0, expected = 0;
#pragma omp target teams distribute parallel for simd map(from : device) map(tofrom : total) reduction(+ : total)
  for (int i = 0; i < N; i++) {
    int steps = collatz(i + 1);
    switch (i % 4) {
    case 0: device[i] = steps; break;
    case 1: device[i] = -steps; break;
    case 2:
      device[i] = 0;
      for (int k = 0; k < i % 9; k++)
        device[i] += k * steps;
      break;
    default: device[i] = i > 150 ? steps * 2 : steps + 1000;
    }
    total += device[i];
  }
  for (int i = 0; i < N; i++) {
    int steps = collatz(i + 1), k = i % 9;
    int right = i % 4 == 0 ? steps : i % 4 == 1 ? -steps : i % 4 == 2 ? k * (k - 1) / 2 * steps
                : i > 150 ? steps * 2 : steps + 1000;
    CHECK(device[i] == right, "element %d is %d, not %d", i, device[i], right);
    expected += right;
  }
  CHECK(total == expected, "total is %d, not %d", total, expected);
  return 0;
}
