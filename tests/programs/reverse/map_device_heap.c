// boomerang: checks: memory from malloc in device code can be mapped in a request
// boomerang: sources: map_device_heap_host.c
// boomerang: plugins: ours
// boomerang: variants: BOOMERANG_DEVICE_RUNTIME=stock | BOOMERANG_INLINE=0 | BOOMERANG_PTX_OPT=heap
#include "../check.h"

#pragma omp requires reverse_offload

void negate(int *first, int count);

int main(void) {
  enum { N = 3000 };
  int wrong = 0;
#pragma omp target map(tofrom : wrong)
  {
    int *some = malloc(N * sizeof *some), *few = malloc(3 * sizeof *few);
    for (int i = 0; i < N; i++)
      some[i] = i;
    for (int i = 0; i < 3; i++)
      few[i] = i;
#pragma omp target device(ancestor : 1) map(tofrom : some[0 : N], few[0 : 3])
    {
      negate(some, N);
      negate(few, 3);
    }
    for (int i = 0; i < N; i++)
      wrong += some[i] != -i;
    for (int i = 0; i < 3; i++)
      wrong += few[i] != -i;
    free(some);
    free(few);
  }
  CHECK(wrong == 0, "%d elements are wrong", wrong);
  return 0;
}
