/* The host's part of map_firstprivate_by_copy.c. */
#include "map_firstprivate_by_copy.h"

#include <stdint.h>
#include <string.h>

#include "../check.h"

void check_values(float f, double d, struct text *text, struct big *big) {
  CHECK(f == 5.5f && d == 6.25, "reals arrived as %g %g", f, d);
  CHECK((uintptr_t)big % _Alignof(struct big) == 0, "the structure lies at %p", (void *)big);
  CHECK(!strcmp(text->letters, "text"), "a text arrived as %s", text->letters);
  for (int k = 0; k < BIG; k++) {
    CHECK(big->values[k] == k * k, "element %d arrived as %d", k, big->values[k]);
    big->values[k] = -1;
  }
  text->letters[3] = 'T';
}
