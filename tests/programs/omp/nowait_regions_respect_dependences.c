// boomerang: checks: regions with nowait run in the order of their dependences and are over after taskwait
#include <omp.h>

#include "../check.h"

int main(void) {
  int a = 1, b = 0, c = 0, sums[8] = {0};
  /* Before there are threads: they inherit a default device only if libgomp has looked for devices already. */
  CHECK(omp_get_num_devices() > 0, "no device");
#pragma omp parallel
#pragma omp single
  {
#pragma omp target map(tofrom : a) depend(out : a) nowait
    a += 10;
#pragma omp target map(to : a) map(from : b) depend(in : a) depend(out : b) nowait
    b = 2 * a;
#pragma omp task depend(in : b) depend(out : c)
    c = b + 1;
    for (int i = 0; i < 8; i++) {
#pragma omp target map(from : sums[i : 1]) firstprivate(i) nowait
      sums[i] = i * i;
    }
#pragma omp taskwait
  }
  CHECK(a == 11 && b == 22 && c == 23, "a, b and c are %d, %d and %d", a, b, c);
  for (int i = 0; i < 8; i++)
    CHECK(sums[i] == i * i, "sums[%d] is %d", i, sums[i]);
  return 0;
}
