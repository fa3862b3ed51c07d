// boomerang: checks: target update copies to and from the device, whole arrays and sections, inside target data
#include "../check.h"

int main(void) {
  enum { N = 256 };
  int a[N];
  for (int i = 0; i < N; i++)
    a[i] = i;
#pragma omp target data map(to : a)
  {
    for (int i = 0; i < N; i++)
      a[i] = -i;
#pragma omp target update to(a[64 : 64])
#pragma omp target
    for (int i = 0; i < N; i++)
      a[i] *= 2;
    CHECK(a[100] == -100, "the host's array changed without an update");
#pragma omp target update from(a[0 : 200])
  }
  for (int i = 0; i < N; i++) {
    int expected = i >= 200 ? -i : i >= 64 && i < 128 ? -2 * i : 2 * i;
    CHECK(a[i] == expected, "a[%d] is %d, not %d", i, a[i], expected);
  }
  return 0;
}
