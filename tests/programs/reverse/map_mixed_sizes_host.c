/* The host's part of map_mixed_sizes.c. */
#include "map_mixed_sizes.h"

#include "../check.h"

void change(char *one, char *odd, char *medium, double *number, char *to, char *from, char *large) {
  CHECK(*one == 1 && *number == 2.5, "scalars arrived as %d %g", *one, *number);
  *one = 2;
  *number = 5;
  for (int i = 0; i < 11; i++) {
    CHECK(odd[i] == i + 1, "odd[%d] arrived as %d", i + 1, odd[i]);
    odd[i] = (char)-odd[i];
  }
  for (int i = 0; i < 1000; i++) {
    CHECK(medium[i] == (char)(3 * i), "medium[%d] arrived as %d", i, medium[i]);
    medium[i]++;
  }
  for (int i = 0; i < 100; i++) {
    CHECK(to[i] == (char)(5 * i), "to[%d] arrived as %d", i, to[i]);
    to[i] = 0;
  }
  for (int i = 0; i < 777; i++)
    from[i] = (char)(7 * i);
  for (int i = 0; i < LARGE; i += 100) {
    CHECK(large[i] == (char)(i / 100), "large[%d] arrived as %d", i, large[i]);
    large[i]++;
  }
}
