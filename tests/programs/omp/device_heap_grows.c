// boomerang: checks: device code gets as much memory as the device has room for, in kernels of many teams, keeps what it writes, and can free and allocate again
// boomerang: plugins: ours
// boomerang: env: GOMP_DEBUG=1
// boomerang: variants: BOOMERANG_SIM_SEED=1 | BOOMERANG_SIM_SEED=2 | BOOMERANG_HEAP_CHECK=1 | BOOMERANG_HEAP=1G | BOOMERANG_SIM_MEMORY=4G
// boomerang: stderr: and up to [0-9]+ more of managed memory
// boomerang: stderr: has not freed 0 blocks
// boomerang: not-stderr: no room for
#include "../check.h"

/* Four times what the heap has at first. */
enum { TOTAL = 256 << 20, MOST = 1 << 14 };

#pragma omp declare target
static unsigned char *blocks[MOST];

static size_t size_of(int block, size_t bytes) { return bytes - (size_t)block % 7 * (bytes / 16); }

/* Few words of it, so that the pages of large ones are not all touched. */
static void write(unsigned char *memory, int block, size_t bytes) {
  *(int *)memory = block;
  memory[bytes / 2] = (unsigned char)block;
  memory[bytes - 1] = (unsigned char)(block * 7);
}

static int is_whole(const unsigned char *memory, int block, size_t bytes) {
  return *(const int *)memory == block && memory[bytes / 2] == (unsigned char)block &&
         memory[bytes - 1] == (unsigned char)(block * 7);
}
#pragma omp end declare target

/* Allocates those from `first` on, each `step`th; how many could not be. */
static int fill(int first, int step, int count, size_t bytes) {
  int none = 0;
#pragma omp target teams distribute parallel for num_teams(9) thread_limit(4) map(tofrom : none)
  for (int i = first; i < count; i += step) {
    size_t size = size_of(i, bytes);
    blocks[i] = malloc(size);
    if (blocks[i])
      write(blocks[i], i, size);
    else
#pragma omp atomic
      none++;
  }
  return none;
}

/* Frees them, in another order and by other threads; how many another one has written to. */
static int empty(int first, int step, int count, size_t bytes) {
  int wrong = 0;
#pragma omp target teams distribute parallel for num_teams(7) thread_limit(4) map(tofrom : wrong)
  for (int i = count - 1 - (count - 1 - first) % step; i >= first; i -= step) {
    if (!blocks[i] || !is_whole(blocks[i], i, size_of(i, bytes)))
#pragma omp atomic
      wrong++;
    free(blocks[i]);
  }
  return wrong;
}

int main(void) {
  static const size_t sizes[] = {1 << 20, 24 << 10, 100 << 20};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    size_t bytes = sizes[i], half = bytes / 2;
    int count = (int)(TOTAL / bytes), none = fill(0, 1, count, bytes);
    CHECK(none == 0, "%d of %d blocks of %zu bytes could not be allocated", none, count, bytes);
    int wrong = empty(1, 2, count, bytes);
    none = fill(1, 2, count, half);
    CHECK(none == 0, "%d blocks of %zu bytes could not be allocated in place of larger ones", none, half);
    wrong += empty(0, 2, count, bytes) + empty(1, 2, count, half);
    CHECK(wrong == 0, "%d of %d blocks of %zu bytes were overwritten", wrong, count, bytes);
  }
  return 0;
}
