// boomerang: checks: memory from malloc in device code that lies in the part of the heap that grows can be mapped in a request, while the kernel runs
// boomerang: sources: map_device_heap_host.c
// boomerang: plugins: ours
// boomerang: env: GOMP_DEBUG=1
// boomerang: variants: BOOMERANG_DEVICE_RUNTIME=stock | BOOMERANG_INLINE=0 | BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll
// boomerang: stderr: and up to [0-9]+ more of managed memory
// boomerang: stderr: has not freed 0 blocks
#include "../check.h"

#pragma omp requires reverse_offload

void negate(int *first, int count);
void negate_ends(int *first, int count);

/* The heap has 64 MiB at first. The last is copied in chunks. */
enum { MEMORY = 96 << 20, N = 3000, FEW_AT = 5000000, FEW = 3, SIX_AT = 6000001, SIX = 6, LARGE_AT = 10000000, LARGE = 8000000 };

#pragma omp declare target
static void set(int *first, int count) {
  for (int i = 0; i < count; i++)
    first[i] = i;
}

static int not_negated(const int *first, int count) {
  int wrong = 0;
  for (int i = 0; i < count; i++)
    wrong += first[i] != -i;
  return wrong;
}
#pragma omp end declare target

int main(void) {
  int wrong = 0;
#pragma omp target map(tofrom : wrong)
  {
    int *some = malloc(MEMORY), *few = some + FEW_AT, *six = some + SIX_AT, *large = some + LARGE_AT;
    for (int round = 0; round < 2; round++) {
      set(some, N);
      set(few, FEW);
      set(six, SIX);
      large[0] = 5;
      large[LARGE - 1] = 6;
#pragma omp target device(ancestor : 1) map(tofrom : some[0 : N], few[0 : FEW], six[0 : SIX], large[0 : LARGE])
      {
        negate(some, N);
        negate(few, FEW);
        negate(six, SIX);
        negate_ends(large, LARGE);
      }
      wrong += not_negated(some, N) + not_negated(few, FEW) + not_negated(six, SIX);
      wrong += large[0] != -5 || large[LARGE - 1] != -6;
    }
    free(some);
  }
  CHECK(wrong == 0, "%d elements are wrong", wrong);
  return 0;
}
