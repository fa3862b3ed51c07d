// boomerang: checks: a map of present data copies nothing unless it says `always`
#include "../check.h"

int main(void) {
  int x = 1, seen = 0;
#pragma omp target enter data map(to : x)
  x = 2;
#pragma omp target map(tofrom : x) map(from : seen)
  {
    seen = x;
    x = 3;
  }
  CHECK(seen == 1 && x == 2, "plain map: device saw %d, host then had %d", seen, x);
#pragma omp target map(always, to : x) map(from : seen)
  {
    seen = x;
    x = 4;
  }
  CHECK(seen == 2 && x == 2, "always,to: device saw %d, host then had %d", seen, x);
#pragma omp target map(always, from : x) map(from : seen)
  seen = x;
  CHECK(seen == 4 && x == 4, "always,from: device saw %d, host then had %d", seen, x);
#pragma omp target exit data map(delete : x)
  return 0;
}
