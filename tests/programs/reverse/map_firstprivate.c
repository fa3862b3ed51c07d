// boomerang: checks: firstprivate integers and pointers arrive in a request with the device's values, and changes to them stay on the host
// boomerang: sources: map_firstprivate_host.c
// boomerang: variants: BOOMERANG_DEVICE_RUNTIME=stock | BOOMERANG_INLINE=0 | BOOMERANG_INLINE=64
#include "../check.h"

#pragma omp requires reverse_offload

void check_values(char c, short s, int i, long l, int *null);

int main(void) {
  int sum = -1;
#pragma omp target map(from : sum)
  {
    char c = 1;
    short s = 2;
    int i = 3;
    long l = 4;
    int *null = 0;
#pragma omp target device(ancestor : 1) firstprivate(c, s, i, l, null)
    {
      check_values(c, s, i, l, null);
      c = s = i = l = 0;
    }
    sum = c + s + i + l;
  }
  CHECK(sum == 10, "the device's variables changed: they add up to %d", sum);
  return 0;
}
