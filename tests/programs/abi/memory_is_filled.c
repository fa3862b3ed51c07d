// boomerang: checks: memset fills exactly the bytes named
#include "plugin.h"

int main(void) {
  enum { SIZE = 1000 };
  unsigned char out[SIZE];
  start_plugin(0);
  char *memory = PLUGIN(GOMP_OFFLOAD_alloc)(0, SIZE);
  CHECK(memory, "no memory: %s", last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_memset)(0, memory, 0x11, SIZE), "all: %s", last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_memset)(0, memory + 5, 0xfe, 333), "a part: %s", last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_memset)(0, memory + 900, 0, 0), "nothing: %s", last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_dev2host)(0, out, memory, SIZE), "reading back: %s", last_error);
  for (int i = 0; i < SIZE; i++)
    CHECK(out[i] == (i >= 5 && i < 338 ? 0xfe : 0x11), "byte %d is %#x", i, out[i]);
  CHECK(PLUGIN(GOMP_OFFLOAD_free)(0, memory), "free: %s", last_error);
  return 0;
}
