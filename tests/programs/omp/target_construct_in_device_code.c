// boomerang: checks: a target construct that device code comes to, which libgomp's device library leaves out, does no harm
// boomerang: variants: BOOMERANG_PTX_OPT=0 | BOOMERANG_PTX_OPT=prune
#include "../check.h"

#pragma omp begin declare target
static __attribute__((noinline)) void add(int *to) {
#pragma omp target map(tofrom : to[0])
  to[0]++;
}
#pragma omp end declare target

int main(void) {
  int came = 0;
#pragma omp target map(from : came)
  {
    int own = 0;
    add(&own);
    came = 1;
  }
  CHECK(came, "the region did not come past it");
  return 0;
}
