// boomerang: checks: `present` maps data that is there, in maps and in updates
// boomerang: gcc: 14
#include "../check.h"

int main(void) {
  int a[10] = {0};
#pragma omp target data map(to : a)
  {
#pragma omp target map(present, alloc : a)
    a[3] = 33;
    CHECK(a[3] == 0, "the host's array changed without a copy");
#pragma omp target update from(present : a)
    CHECK(a[3] == 33, "after the update a[3] is %d", a[3]);
  }
  return 0;
}
