/* The host's part of map_device_heap.c and map_grown_device_heap.c. */
#include "../check.h"

void negate(int *first, int count) {
  for (int i = 0; i < count; i++) {
    CHECK(first[i] == i, "element %d arrived as %d", i, first[i]);
    first[i] = -first[i];
  }
}

void negate_ends(int *first, int count) {
  CHECK(first[0] == 5 && first[count - 1] == 6, "the ends arrived as %d and %d", first[0], first[count - 1]);
  first[0] = -first[0];
  first[count - 1] = -first[count - 1];
}
