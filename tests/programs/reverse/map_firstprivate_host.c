/* The host's part of map_firstprivate.c. */
#include "../check.h"

void check_values(char c, short s, int i, long l, int *null) {
  CHECK(c == 1 && s == 2 && i == 3 && l == 4, "integers arrived as %d %d %d %ld", c, s, i, l);
  CHECK(!null, "a null pointer arrived as %p", (void *)null);
}
