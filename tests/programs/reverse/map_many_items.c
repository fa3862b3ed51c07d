// boomerang: checks: a request carries 48 items, more than travel inline
// boomerang: sources: map_many_items_host.c
// boomerang: variants: BOOMERANG_DEVICE_RUNTIME=stock | BOOMERANG_INLINE=0 | BOOMERANG_INLINE=64
#include "../check.h"

#pragma omp requires reverse_offload

void add_one(int *x, int number);

#define EIGHT(f, row) f(row##0) f(row##1) f(row##2) f(row##3) f(row##4) f(row##5) f(row##6) f(row##7)
#define ALL(f) EIGHT(f, 0) EIGHT(f, 1) EIGHT(f, 2) EIGHT(f, 3) EIGHT(f, 4) EIGHT(f, 5)
#define NAMES(row) v##row##0, v##row##1, v##row##2, v##row##3, v##row##4, v##row##5, v##row##6, v##row##7

/* The number of an item is its name, read as octal. */
#define DECLARE(n) int v##n = 1000 + 0##n;
#define CHANGE(n) add_one(&v##n, 0##n);
#define COUNT(n) wrong += v##n != 1001 + 0##n;

int main(void) {
  int result = -1;
#pragma omp target map(from : result)
  {
    int wrong = 0;
    ALL(DECLARE)
#pragma omp target device(ancestor : 1) map(tofrom : NAMES(0), NAMES(1), NAMES(2), NAMES(3), NAMES(4), NAMES(5))
    {
      ALL(CHANGE)
    }
    ALL(COUNT)
    result = wrong;
  }
  CHECK(result == 0, "%d items came back wrong", result);
  return 0;
}
