/* The host's part of map_present.c. */
#include "../check.h"

static int *host_x, *host_array;

void remember(int *x, int *array) {
  host_x = x;
  host_array = array;
}

void change(int *x, int *slice) {
  CHECK(x == host_x, "x at %p, not at %p", (void *)x, (void *)host_x);
  CHECK(slice == host_array + 20, "slice at %p, array at %p", (void *)slice, (void *)host_array);
  CHECK(*x == 2, "x arrived as %d", *x);
  CHECK(slice[0] == 200 && slice[9] == 29, "slice arrived as %d ... %d", slice[0], slice[9]);
  *x += 1;
  slice[0] += 1;
  slice[9] += 1;
}
