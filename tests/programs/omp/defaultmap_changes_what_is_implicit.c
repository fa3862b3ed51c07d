// boomerang: checks: scalars are firstprivate and arrays tofrom by default, and defaultmap changes both
#include "../check.h"

int main(void) {
  int scalar = 1, array[4] = {1, 1, 1, 1};
#pragma omp target
  {
    scalar += 10;
    array[0] += scalar;
  }
  CHECK(scalar == 1, "an implicit scalar came back as %d", scalar);
  CHECK(array[0] == 12, "an implicit array came back with %d", array[0]);
#pragma omp target defaultmap(tofrom : scalar) defaultmap(to : aggregate)
  {
    scalar += 10;
    array[0] += scalar;
  }
  CHECK(scalar == 11, "a scalar mapped tofrom came back as %d", scalar);
  CHECK(array[0] == 12, "an array mapped to came back with %d", array[0]);
  return 0;
}
