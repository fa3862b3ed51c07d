// boomerang: checks: the lanes of a warp work on a simd loop together: reductions and lastprivate come out right
#include "../check.h"

int main(void) {
  enum { N = 1003 };
  int a[N], sum = 0, last = -1;
  double d = 0;
#pragma omp target map(from : a) map(tofrom : sum, last, d)
  {
#pragma omp simd reduction(+ : sum, d) lastprivate(last)
    for (int i = 0; i < N; i++) {
      a[i] = 2 * i;
      sum += i;
      d += 0.5;
      last = i * 3;
    }
  }
  CHECK(sum == N * (N - 1) / 2, "sum is %d", sum);
  CHECK(d == 0.5 * N, "d is %g", d);
  CHECK(last == 3 * (N - 1), "lastprivate is %d", last);
  for (int i = 0; i < N; i++)
    CHECK(a[i] == 2 * i, "a[%d] is %d", i, a[i]);
  return 0;
}
