/* The host's part of map_many_items.c. */
#include "../check.h"

void add_one(int *x, int number) {
  CHECK(*x == 1000 + number, "item %d arrived as %d", number, *x);
  ++*x;
}
