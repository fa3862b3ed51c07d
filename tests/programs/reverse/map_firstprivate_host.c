/* The host's part of map_firstprivate.c. */
#include "map_firstprivate.h"

#include "../check.h"

void check_values(char c, short s, int i, long l, float f, double d, int *null) {
  CHECK(c == 1 && s == 2 && i == 3 && l == 4, "integers arrived as %d %d %d %ld", c, s, i, l);
  CHECK(f == 5.5f && d == 6.25, "floats arrived as %g %g", f, d);
  CHECK(!null, "a null pointer arrived as %p", (void *)null);
}

void check_big(struct big *big) {
  for (int k = 0; k < BIG; k++) {
    CHECK(big->values[k] == k * k, "element %d arrived as %d", k, big->values[k]);
    big->values[k] = -1;
  }
}
