// boomerang: checks: `present` on data that is not there ends the program with a message
// boomerang: gcc: 14
// boomerang: exit: failure
// boomerang: stderr: present
// boomerang: timeout: 20
#include "../check.h"

int main(void) {
  int a[10] = {0};
#pragma omp target map(present, tofrom : a)
  a[0] = 1;
  CHECK(0, "the region ran, a[0] is %d", a[0]);
}
