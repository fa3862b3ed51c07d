// boomerang: checks: small blocks of all sizes, of many threads and lanes at once, lie in the part of the device heap that grows where the other is full, and both report what was not freed
// boomerang: plugins: ours
// boomerang: env: GOMP_DEBUG=1 BOOMERANG_HEAP=256M
// boomerang: variants: BOOMERANG_SIM_SEED=1 | BOOMERANG_SIM_SEED=2 | BOOMERANG_SIM_SEED=3 | BOOMERANG_HEAP_CHECK=1
// boomerang: stderr: has not freed 4200 blocks of
// boomerang: not-stderr: no room for
#include "../check.h"
#include "device_heap_blocks.h"

enum { BLOCKS = 6000, ROUNDS = 3, PAGES = 4200 };

#pragma omp declare target
static unsigned *blocks[BLOCKS];
#pragma omp end declare target

int main(void) {
  int none = 0, bad = 0;
  /* More pages than the first part has, which are kept. */
#pragma omp target teams distribute parallel for num_teams(9) thread_limit(8) map(tofrom : none)
  for (int i = 0; i < PAGES; i++) {
    char *volatile block = malloc(16000);
    if (!block)
#pragma omp atomic
      none++;
  }
  for (int round = 0; round < ROUNDS; round++) {
#pragma omp target teams distribute parallel for num_teams(12) thread_limit(8) map(tofrom : none)
    for (int i = 0; i < BLOCKS; i++)
      if (!(blocks[i] = filled(i, round)))
#pragma omp atomic
        none++;
#pragma omp target teams distribute parallel for simd num_teams(7) thread_limit(8) map(tofrom : bad) reduction(+ : bad)
    for (int i = 0; i < BLOCKS; i++) {
      int block = BLOCKS - 1 - i;
      bad += !blocks[block] || !is_whole(blocks[block], block, round);
      free(blocks[block]);
    }
  }
  CHECK(none == 0, "%d blocks could not be allocated", none);
  CHECK(bad == 0, "%d blocks were overwritten", bad);
  return 0;
}
