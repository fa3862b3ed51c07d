// boomerang: checks: arrays and scalars mapped to, from, tofrom and alloc travel in the directions named and no others
#include "../check.h"

enum { N = 1000 };

int main(void) {
  int to[N], from[N], tofrom[N], alloc[N], scalar = 5, result = 0;
  for (int i = 0; i < N; i++) {
    to[i] = i;
    from[i] = -1;
    tofrom[i] = 2 * i;
    alloc[i] = 7;
  }
#pragma omp target map(to : to, scalar) map(from : from) map(tofrom : tofrom, result) map(alloc : alloc)
  for (int i = 0; i < N; i++) {
    alloc[i] = to[i];
    to[i] = -5;
    from[i] = alloc[i] + tofrom[i];
    tofrom[i] += scalar;
    result += alloc[i];
  }
  CHECK(result == N * (N - 1) / 2, "scalar mapped tofrom: %d", result);
  for (int i = 0; i < N; i++) {
    CHECK(to[i] == i, "to[%d] came back as %d", i, to[i]);
    CHECK(from[i] == 3 * i, "from[%d] is %d", i, from[i]);
    CHECK(tofrom[i] == 2 * i + 5, "tofrom[%d] is %d", i, tofrom[i]);
    CHECK(alloc[i] == 7, "alloc[%d] came back as %d", i, alloc[i]);
  }
  return 0;
}
