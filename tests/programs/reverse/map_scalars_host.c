/* The host's part of map_scalars.c. */
#include "../check.h"

void exchange(int *to, int *from, int *tofrom, double *wide, char *narrow) {
  CHECK(*to == 10, "mapped to: %d", *to);
  CHECK(*tofrom == 30, "mapped tofrom: %d", *tofrom);
  CHECK(*wide == 2.5, "double mapped tofrom: %g", *wide);
  CHECK(*narrow == 'c', "char mapped tofrom: %c", *narrow);
  *to = 11;
  *from = 21;
  *tofrom = 31;
  *wide += 1;
  *narrow += 1;
}
