// boomerang: checks: blocks of all sizes that were freed, in any order and by another team, make room for blocks of any other size
// boomerang: plugins: ours
// boomerang: env: GOMP_DEBUG=1 BOOMERANG_HEAP=8388608
// boomerang: variants: BOOMERANG_SIM_SEED=1 | BOOMERANG_SIM_SEED=2 | BOOMERANG_HEAP_CHECK=1
// boomerang: stderr: has not freed 0 blocks
// boomerang: not-stderr: no room for
#include "../check.h"

/* Of a heap of 8 MiB, in which libgomp has some blocks as well: none of them may lie in the way of the largest. */
enum { SHARE = 3 << 20, MOST = SHARE / 1024 };

#pragma omp declare target
static char *blocks[MOST];
#pragma omp end declare target

static int fill_and_empty(size_t bytes) {
  int count = (int)(SHARE / bytes), none = 0;
#pragma omp target teams distribute parallel for num_teams(6) thread_limit(4) map(tofrom : none)
  for (int i = 0; i < count; i++) {
    blocks[i] = malloc(bytes - 64);
    if (!blocks[i])
#pragma omp atomic
      none++;
  }
#pragma omp target teams distribute parallel for num_teams(5) thread_limit(4)
  for (int i = 0; i < count; i++)
    free(blocks[(long)i * 7919 % count]);
  return none;
}

int main(void) {
  /* Divisors of SHARE, none a multiple of 7919, which is prime. */
  static const size_t sizes[] = {1024, SHARE, 4096, 196608, 1536, SHARE / 2, 8192, 3072, SHARE};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    int none = fill_and_empty(sizes[i]);
    CHECK(none == 0, "%d blocks of %zu bytes could not be allocated", none, sizes[i]);
  }
  return 0;
}
