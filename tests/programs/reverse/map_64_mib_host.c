/* The host's part of map_64_mib.c. */
#include <stddef.h>

#include "../check.h"

void check_and_negate(int *array, size_t n, size_t step, int factor) {
  for (size_t i = 0; i < n; i += step) {
    CHECK(array[i] == (int)(i / step) * factor, "element %zu arrived as %d", i, array[i]);
    array[i] = -array[i];
  }
}
