// boomerang: checks: array sections mapped in a request carry exactly the elements named, from arrays and through pointers
// boomerang: sources: map_array_sections_host.c
// boomerang: variants: BOOMERANG_DEVICE_RUNTIME=stock | BOOMERANG_INLINE=0 | BOOMERANG_INLINE=64
#include "../check.h"

#pragma omp requires reverse_offload

void negate(int *first, int count);

int main(void) {
  enum { N = 100 };
  int local[N], reached[N], mapped[N];
  for (int i = 0; i < N; i++)
    mapped[i] = i;

#pragma omp target map(from : local, reached) map(tofrom : mapped)
  {
    int array[N];
    int *pointer = reached;
    for (int i = 0; i < N; i++)
      array[i] = pointer[i] = i;
    /* A section of a local array, one through a pointer to mapped memory, and one of a mapped array. */
#pragma omp target device(ancestor : 1) map(tofrom : array[10 : 20])
    negate(&array[10], 20);
#pragma omp target device(ancestor : 1) map(always, tofrom : pointer[30 : 40])
    negate(&pointer[30], 40);
#pragma omp target device(ancestor : 1) map(always, tofrom : mapped[50 : 50])
    negate(&mapped[50], 50);
    for (int i = 0; i < N; i++)
      local[i] = array[i];
  }

  for (int i = 0; i < N; i++) {
    CHECK(local[i] == (i >= 10 && i < 30 ? -i : i), "local[%d] is %d", i, local[i]);
    CHECK(reached[i] == (i >= 30 && i < 70 ? -i : i), "reached[%d] is %d", i, reached[i]);
    CHECK(mapped[i] == (i >= 50 ? -i : i), "mapped[%d] is %d", i, mapped[i]);
  }
  return 0;
}
