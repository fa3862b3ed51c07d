/* The host's part of map_attached_pointers.c. */
#include "map_attached_pointers.h"

#include "../check.h"

void add_to_vector(struct vector *v, int n) {
  CHECK(v->length == 5, "length arrived as %d", v->length);
  for (int i = 0; i < 5; i++)
    v->data[i] += n;
  v->length++;
}
