// boomerang: checks: regions of several translation units are told apart and share declare-target functions
// boomerang: sources: two_units_with_regions_other.c
#include "../check.h"

#pragma omp begin declare target
int scale(int x);
#pragma omp end declare target
int region_of_other_unit(int x);

int main(void) {
  int x = 5;
#pragma omp target map(tofrom : x)
  x = scale(x) + 1;
  CHECK(x == 51, "this unit's region gave %d", x);
  x = region_of_other_unit(x);
  CHECK(x == 512, "the other unit's region gave %d", x);
  return 0;
}
