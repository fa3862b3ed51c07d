// boomerang: checks: `present` in a request finds the host's own variable behind data that the region has mapped
// boomerang: sources: map_present_host.c
// boomerang: gcc: 14
// boomerang: variants: BOOMERANG_DEVICE_RUNTIME=stock | BOOMERANG_INLINE=0 | BOOMERANG_INLINE=64
#include "../check.h"

#pragma omp requires reverse_offload

void remember(int *x, int *array);
void change(int *x, int *slice);

int main(void) {
  int x = 1, array[50], bad = 0;
  for (int i = 0; i < 50; i++)
    array[i] = i;
  remember(&x, array);
#pragma omp target map(tofrom : x, array, bad)
  {
    x = 2;
    array[20] = 200;
#pragma omp target device(ancestor : 1) map(present, always, tofrom : x) map(present, always, tofrom : array[20 : 10])
    change(&x, &array[20]);
    if (x != 3 || array[20] != 201 || array[29] != 30)
      bad = 1;
  }
  CHECK(!bad, "the device did not get the host's changes: x %d, array %d ... %d", x, array[20], array[29]);
  return 0;
}
