// boomerang: checks: for data that the region has mapped, a request's plain map copies nothing, and `always` copies in the direction named
// boomerang: sources: map_always_host.c
// boomerang: variants: BOOMERANG_DEVICE_RUNTIME=stock | BOOMERANG_INLINE=0 | BOOMERANG_INLINE=64
#include "../check.h"

#pragma omp requires reverse_offload

void look(int *x, int *seen, int store);

int main(void) {
  int x = 1;
  int seen[4], device[4];
#pragma omp target map(tofrom : x) map(from : seen, device)
  {
    int s = 0;
    x = 2;
#pragma omp target device(ancestor : 1) map(tofrom : x) map(from : s)
    look(&x, &s, 5);
    seen[0] = s;
    device[0] = x;
#pragma omp target device(ancestor : 1) map(always, to : x) map(from : s)
    look(&x, &s, 6);
    seen[1] = s;
    device[1] = x;
#pragma omp target device(ancestor : 1) map(always, from : x) map(from : s)
    look(&x, &s, 7);
    seen[2] = s;
    device[2] = x;
    x = 8;
#pragma omp target device(ancestor : 1) map(always, tofrom : x) map(from : s)
    look(&x, &s, 9);
    seen[3] = s;
    device[3] = x;
  }
  CHECK(seen[0] == 1 && device[0] == 2, "tofrom: host saw %d, device then had %d", seen[0], device[0]);
  CHECK(seen[1] == 2 && device[1] == 2, "always,to: host saw %d, device then had %d", seen[1], device[1]);
  CHECK(seen[2] == 6 && device[2] == 7, "always,from: host saw %d, device then had %d", seen[2], device[2]);
  CHECK(seen[3] == 8 && device[3] == 9, "always,tofrom: host saw %d, device then had %d", seen[3], device[3]);
  CHECK(x == 9, "after the region: %d", x);
  return 0;
}
