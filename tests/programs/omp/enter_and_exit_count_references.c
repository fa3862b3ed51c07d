// boomerang: checks: data stays on the device until the last of its references is released or it is deleted
#include <omp.h>

#include "../check.h"

int main(void) {
  int device = omp_get_default_device(), x = 1;
#pragma omp target enter data map(to : x)
#pragma omp target enter data map(to : x)
#pragma omp target map(tofrom : x)
  x = 5;
  CHECK(omp_target_is_present(&x, device), "not present after two enters");
#pragma omp target exit data map(from : x)
  CHECK(omp_target_is_present(&x, device), "gone with a reference left");
  CHECK(x == 1, "copied back with a reference left: %d", x);
#pragma omp target exit data map(from : x)
  CHECK(!omp_target_is_present(&x, device), "present without a reference");
  CHECK(x == 5, "not copied back by the last release: %d", x);

#pragma omp target enter data map(to : x)
#pragma omp target enter data map(to : x)
#pragma omp target exit data map(delete : x)
  CHECK(!omp_target_is_present(&x, device), "present after delete");
  return 0;
}
