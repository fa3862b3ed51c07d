// boomerang: checks: a pointer whose section has no elements becomes the device's address where mapped, and is harmless elsewhere
#include "../check.h"

int main(void) {
  int array[4] = {1, 2, 3, 4}, *mapped = array, *null = 0, got = 0, was_null = 0;
#pragma omp target data map(tofrom : array)
  {
#pragma omp target map(alloc : mapped[0 : 0], null[0 : 0]) map(from : got, was_null)
    {
      got = mapped[2];
      mapped[1] = 20;
      was_null = null == 0;
    }
  }
  CHECK(got == 3, "read %d through the pointer", got);
  CHECK(array[1] == 20, "array[1] is %d", array[1]);
  CHECK(was_null, "a null pointer was not null on the device");
  return 0;
}
