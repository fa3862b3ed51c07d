// boomerang: checks: single lanes of a simd loop make requests, all or some of a warp, and each lane gets its own reply
// boomerang: sources: lanes_of_a_simd_loop_request_host.c
// boomerang: variants: BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll
// boomerang: stock: hangs: the lanes of a warp wait for a lock that one of them holds
#include "../check.h"

#pragma omp requires reverse_offload

enum { N = 200 };

void square(int *x);

#pragma omp begin declare target
static __attribute__((noinline)) int ask(int x) {
#pragma omp target device(ancestor : 1) map(always, tofrom : x)
  square(&x);
  return x;
}
#pragma omp end declare target

int main(void) {
  int all[N], some[N];
#pragma omp target map(from : all, some)
  {
#pragma omp simd
    for (int i = 0; i < N; i++)
      all[i] = ask(i);
#pragma omp simd
    for (int i = 0; i < N; i++)
      some[i] = i % 3 ? -i : ask(i);
  }
  for (int i = 0; i < N; i++) {
    CHECK(all[i] == i * i, "all lanes: element %d is %d", i, all[i]);
    CHECK(some[i] == (i % 3 ? -i : i * i), "some lanes: element %d is %d", i, some[i]);
  }
  return 0;
}
