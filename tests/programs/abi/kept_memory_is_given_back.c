// boomerang: checks: memory that is kept for reuse is given back before an allocation fails, and one that fails says how much was asked for, is free and there is
// boomerang: env: BOOMERANG_SIM_MEMORY=64M
// boomerang: variants: BOOMERANG_POOL=1T | BOOMERANG_POOL=off | BOOMERANG_POOL=3M
// boomerang: on: sim
#include "plugin.h"

enum { MIB = 1 << 20 };

static char *allocate(size_t size) {
  char *memory = PLUGIN(GOMP_OFFLOAD_alloc)(0, size);
  CHECK(memory, "%zu bytes were refused: %s", size, last_error);
  return memory;
}

static void release(void *memory) { CHECK(PLUGIN(GOMP_OFFLOAD_free)(0, memory), "free: %s", last_error); }

int main(void) {
  start_plugin(0);
  for (int round = 0; round < 3; round++) {
    /* 50 MiB in small pieces, then nearly all there is in one. */
    static char *pieces[50 * 4];
    for (int i = 0; i < 50 * 4; i++)
      pieces[i] = allocate(MIB / 4);
    for (int i = 0; i < 50 * 4; i++)
      release(pieces[i]);
    release(allocate(60 * MIB));
  }
  /* A class would be 32 MiB + 2 MiB; twice that would not fit, exact sizes do. */
  char *one = allocate(32 * MIB - 100000), *other = allocate(31 * MIB + 100000);
  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_alloc)(0, 3 * MIB), "3145728 bytes requested");
  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_alloc)(0, 3 * MIB), " of 67108864 bytes free");
  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_alloc)(0, (size_t)1 << 63), "9223372036854775808 bytes requested");
  release(one);
  release(other);
  release(allocate(60 * MIB));
  CHECK(!PLUGIN(GOMP_OFFLOAD_alloc)(0, 0) && errors == 0, "no bytes were given out: %s", last_error);
  return 0;
}
