// boomerang: checks: firstprivate variables of every size arrive in a region, private ones are its own, and neither comes back
#include "../check.h"

struct big {
  long values[100];
};

int main(void) {
  char c = 1;
  short s = 2;
  int i = 3, scratch = 99;
  long l = 4;
  float f = 0.5f;
  double d = 0.25, sum = 0;
  struct big big;
  for (int k = 0; k < 100; k++)
    big.values[k] = k;
#pragma omp target firstprivate(c, s, i, l, f, d, big) private(scratch) map(from : sum)
  {
    scratch = 0;
    for (int k = 0; k < 100; k++)
      scratch += (int)big.values[k];
    sum = c + s + i + l + f + d + scratch;
    c = s = i = l = 0;
    f = d = 0;
    big.values[99] = 0;
  }
  CHECK(sum == 1 + 2 + 3 + 4 + 0.5 + 0.25 + 4950, "the region saw a sum of %g", sum);
  CHECK(c == 1 && s == 2 && i == 3 && l == 4 && f == 0.5f && d == 0.25 && scratch == 99 && big.values[99] == 99,
        "a private variable came back changed");
  return 0;
}
