// boomerang: checks: a device heap that is full gives NULL, and what is freed then can be allocated again, smaller and of the same size
// boomerang: env: BOOMERANG_HEAP=1048576
// boomerang: variants: BOOMERANG_SIM_SEED=1 | BOOMERANG_PTX_OPT=0 | BOOMERANG_HEAP=8M BOOMERANG_SIM_MEMORY=400M
#include <stdint.h>

#include "../check.h"

enum { MOST = 1 << 14, BYTES = 30000 };

#pragma omp declare target
static char *blocks[MOST];
#pragma omp end declare target

/* Allocates until there is no more, in several teams at once, and writes to all; the number of blocks. */
static int fill(size_t bytes) {
  int count = 0;
#pragma omp target teams num_teams(4) thread_limit(8) map(tofrom : count)
#pragma omp parallel num_threads(4)
  for (;;) {
    char *block = malloc(bytes);
    int mine = MOST;
    if (block)
#pragma omp atomic capture
      mine = count++;
    if (mine >= MOST)
      break;
    blocks[mine] = block;
    *(int *)block = mine;
    *(int *)(block + bytes - 8) = ~mine;
  }
  return count;
}

/* Frees them all; the number of those that another one has written to. By one thread: libgomp needs memory for more. */
static int empty(int count, size_t bytes) {
  int wrong = 0;
#pragma omp target map(tofrom : wrong)
  for (int i = 0; i < count; i++) {
    wrong += *(int *)blocks[i] != i || *(int *)(blocks[i] + bytes - 8) != ~i;
    free(blocks[i]);
  }
  return wrong;
}

int main(void) {
  int too_large = 1;
#pragma omp target map(tofrom : too_large)
  {
    void *huge = malloc((size_t)1 << 62), *most = malloc(SIZE_MAX / 2);
    too_large = huge || most;
  }
  CHECK(!too_large, "got more memory than there can be");

  int first = fill(BYTES);
  CHECK(first > 100 && first < MOST, "got %d blocks", first);
  CHECK(empty(first, BYTES) == 0, "blocks overlap");
  int again = fill(BYTES);
  CHECK(again >= first * 9 / 10, "got %d blocks, then %d", first, again);
  CHECK(empty(again, BYTES) == 0, "blocks overlap");
  int smaller = fill(BYTES / 4);
  CHECK(smaller >= 3 * again, "got %d blocks, then %d of a quarter", again, smaller);
  CHECK(empty(smaller < MOST ? smaller : MOST, BYTES / 4) == 0, "blocks overlap");
  return 0;
}
