// boomerang: checks: a request carries items of 1 byte to 64 KiB at once, in every direction, aligned and not
// boomerang: sources: map_mixed_sizes_host.c
// boomerang: variants: BOOMERANG_DEVICE_RUNTIME=stock | BOOMERANG_INLINE=0 | BOOMERANG_INLINE=64 | BOOMERANG_INLINE=65536
#include "map_mixed_sizes.h"

#include "../check.h"

#pragma omp requires reverse_offload

int main(void) {
  static char large[LARGE];
  int wrong = -1, left = -1;
#pragma omp target map(tofrom : large) map(from : wrong, left)
  {
    char one = 1, odd[13], medium[1000], to[100], from[777];
    double number = 2.5;
    int bad = 0;
    for (int i = 0; i < 13; i++)
      odd[i] = (char)i;
    for (int i = 0; i < 1000; i++)
      medium[i] = (char)(3 * i);
    for (int i = 0; i < 100; i++)
      to[i] = (char)(5 * i);
    for (int i = 0; i < 777; i++)
      from[i] = 99;
    for (int i = 0; i < LARGE; i += 100)
      large[i] = (char)(i / 100);
#pragma omp target device(ancestor : 1) map(tofrom : one, odd[1 : 11], medium, number) map(to : to) map(from : from) \
    map(always, tofrom : large)
    change(&one, odd + 1, medium, &number, to, from, large);
    bad += one != 2;
    bad += number != 5.0;
    for (int i = 0; i < 13; i++)
      bad += odd[i] != (i == 0 || i == 12 ? i : -i);
    for (int i = 0; i < 1000; i++)
      bad += medium[i] != (char)(3 * i + 1);
    for (int i = 0; i < 777; i++)
      bad += from[i] != (char)(7 * i);
    for (int i = 0; i < LARGE; i += 100)
      bad += large[i] != (char)(i / 100 + 1);
    wrong = bad;
    left = to[50];
  }
  CHECK(wrong == 0, "%d bytes came back wrong", wrong);
  CHECK(left == (char)250, "what was mapped `to` came back as %d", left);
  return 0;
}
