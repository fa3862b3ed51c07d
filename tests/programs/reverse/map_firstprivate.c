// boomerang: checks: firstprivate variables of every size arrive in a request with the device's values, and changes to them stay on the host
// boomerang: sources: map_firstprivate_host.c
#include "map_firstprivate.h"

#include "../check.h"

#pragma omp requires reverse_offload

int main(void) {
  int sum = -1;
#pragma omp target map(from : sum)
  {
    char c = 1;
    short s = 2;
    int i = 3;
    long l = 4;
    float f = 5.5f;
    double d = 6.25;
    struct big big;
    int *null = 0;
    for (int k = 0; k < BIG; k++)
      big.values[k] = k * k;
#pragma omp target device(ancestor : 1) firstprivate(c, s, i, l, f, d, big, null)
    {
      check_values(c, s, i, l, f, d, null);
      check_big(&big);
      c = s = i = l = 0;
    }
    sum = c + s + i + l;
    for (int k = 0; k < BIG; k++)
      if (big.values[k] != k * k)
        sum = -2;
  }
  CHECK(sum == 10, "the device's variables changed: %d", sum);
  return 0;
}
