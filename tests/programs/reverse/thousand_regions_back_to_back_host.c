/* The host's part of thousand_regions_back_to_back.c. */
#include "../check.h"

static int expected;

void successor(int *x) {
  CHECK(*x == expected, "region %d served when %d was due", *x, expected);
  expected++;
  (*x)++;
}
