// boomerang: checks: lanes of a simd loop, all or some of a warp, allocate and free memory in functions of their own
// boomerang: variants: BOOMERANG_PTX_OPT=0 | BOOMERANG_PTX_OPT=prune
#include <stdlib.h>

#include "../check.h"

enum { N = 200 };

#pragma omp begin declare target
static __attribute__((noinline)) void fill(int *to, int n, int x) {
  for (int i = 0; i < n; i++)
    to[i] = x + i;
}

/* Its array lies on the soft stack. */
static __attribute__((noinline)) int sum(int x) {
  int local[8], total = 0, n = 1 + x % 8;
  int *memory = malloc(n * sizeof *memory);
  if (!memory)
    return -1;
  fill(local, n, x);
  fill(memory, n, -2 * x);
  for (int i = 0; i < n; i++)
    total += local[i] + memory[i];
  free(memory);
  return total;
}
#pragma omp end declare target

static int expected(int x) {
  int n = 1 + x % 8;
  return n * (n - 1) - n * x;
}

int main(void) {
  int all[N], some[N];
#pragma omp target teams distribute parallel for simd map(from : all) num_teams(2) thread_limit(2)
  for (int i = 0; i < N; i++)
    all[i] = sum(i);
#pragma omp target map(from : some)
#pragma omp simd
  for (int i = 0; i < N; i++)
    some[i] = i % 3 ? -i : sum(i);
  for (int i = 0; i < N; i++) {
    CHECK(all[i] == expected(i), "all lanes: element %d is %d, not %d", i, all[i], expected(i));
    CHECK(some[i] == (i % 3 ? -i : expected(i)), "some lanes: element %d is %d", i, some[i]);
  }
  return 0;
}
