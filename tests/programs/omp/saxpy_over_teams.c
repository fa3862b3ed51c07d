// boomerang: checks: saxpy spread over teams, threads and lanes gives the same numbers as on the host
#include "../check.h"

enum { N = 20000 };

int main(void) {
  static float x[N], y[N];
  float a = 2.5f;
  for (int i = 0; i < N; i++) {
    x[i] = (float)i;
    y[i] = (float)(N - i);
  }
#pragma omp target teams distribute parallel for simd map(to : x) map(tofrom : y)
  for (int i = 0; i < N; i++)
    y[i] = a * x[i] + y[i];
  for (int i = 0; i < N; i++)
    CHECK(y[i] == 2.5f * (float)i + (float)(N - i), "y[%d] is %g", i, y[i]);
  return 0;
}
