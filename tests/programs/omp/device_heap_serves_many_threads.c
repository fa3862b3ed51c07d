// boomerang: checks: blocks that many teams, threads and lanes allocate at once, of all sizes, do not overlap, keep what is written to them, and can be freed by another team
// boomerang: variants: BOOMERANG_SIM_SEED=1 | BOOMERANG_SIM_SEED=2 | BOOMERANG_SIM_SEED=3 | BOOMERANG_HEAP=131072 | BOOMERANG_SIM_MEMORY=400M | BOOMERANG_PTX_OPT=heap | BOOMERANG_PTX_OPT=prune | BOOMERANG_PTX_OPT=0
#include <stdint.h>

#include "../check.h"
#include "device_heap_blocks.h"

enum { BLOCKS = 768, ROUNDS = 3 };

#pragma omp declare target
static unsigned *blocks[BLOCKS];
#pragma omp end declare target

int main(void) {
  int bad = 0, none = 0, unaligned = 0, changed_by_realloc = 0;
  for (int round = 0; round < ROUNDS; round++) {
#pragma omp target teams distribute parallel for num_teams(12) thread_limit(8) map(tofrom : none, unaligned)
    for (int block = 0; block < BLOCKS; block++) {
      blocks[block] = filled(block, round);
      if (!blocks[block])
#pragma omp atomic
        none++;
      else if ((uintptr_t)blocks[block] % 8 != 0)
#pragma omp atomic
        unaligned++;
    }
    /* Every block is in the hands of another thread now. */
#pragma omp target teams distribute parallel for num_teams(7) thread_limit(8) map(tofrom : bad, changed_by_realloc)
    for (int i = 0; i < BLOCKS; i++) {
      int block = BLOCKS - 1 - i;
      size_t words = words_of(block, round);
      if (!blocks[block] || !is_whole(blocks[block], block, round)) {
#pragma omp atomic
        bad++;
        continue;
      }
      if (block % 4 == 0) {
        unsigned *larger = realloc(blocks[block], 3 * words * sizeof *larger);
        if (larger && is_whole(larger, block, round))
          blocks[block] = larger;
        else
#pragma omp atomic
          changed_by_realloc++;
      }
      free(blocks[block]);
    }
  }
  CHECK(none == 0, "%d blocks could not be allocated", none);
  CHECK(unaligned == 0, "%d blocks are not aligned", unaligned);
  CHECK(bad == 0, "%d blocks were overwritten", bad);
  CHECK(changed_by_realloc == 0, "%d blocks were not copied by realloc", changed_by_realloc);

  /* Lanes of a warp, each for itself. */
  int wrong = 0;
#pragma omp target parallel num_threads(4) map(tofrom : wrong)
  {
#pragma omp for simd reduction(+ : wrong)
    for (int block = 0; block < 512; block++) {
      unsigned *one = filled(block, 0), *two = filled(block, 1);
      free(one);
      unsigned *three = filled(block, 2);
      wrong += !two || !three || !is_whole(two, block, 1) || !is_whole(three, block, 2);
      free(three);
      free(two);
    }
  }
  CHECK(wrong == 0, "lanes found %d wrong blocks", wrong);
  return 0;
}
