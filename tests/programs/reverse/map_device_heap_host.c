/* The host's part of map_device_heap.c. */
#include "../check.h"

void negate(int *first, int count) {
  for (int i = 0; i < count; i++) {
    CHECK(first[i] == i, "element %d arrived as %d", i, first[i]);
    first[i] = -first[i];
  }
}
