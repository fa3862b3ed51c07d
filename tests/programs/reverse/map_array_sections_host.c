/* The host's part of map_array_sections.c. */
#include "../check.h"

void negate(int *first, int count) {
  int start = first[0];
  for (int i = 0; i < count; i++) {
    CHECK(first[i] == start + i, "element %d of the section from %d arrived as %d", i, start, first[i]);
    first[i] = -first[i];
  }
}
