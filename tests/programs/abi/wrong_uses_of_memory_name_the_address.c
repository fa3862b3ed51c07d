// boomerang: checks: frees and copies of what is freed, and copies past the end, fail with a message that names the address; copies of nothing and overlapping ones are right
// boomerang: variants: BOOMERANG_POOL=off
#include "plugin.h"

static const char *hex(const void *address) {
  static char text[20];
  snprintf(text, sizeof text, "%p", address);
  return text;
}

int main(void) {
  enum { SIZE = 1000 };
  start_plugin(0);
  char bytes[2 * SIZE], back[SIZE];
  for (int i = 0; i < SIZE; i++)
    bytes[i] = (char)(i * 7);
  char *memory = PLUGIN(GOMP_OFFLOAD_alloc)(0, SIZE), *gone = PLUGIN(GOMP_OFFLOAD_alloc)(0, SIZE);
  CHECK(memory && gone, "no memory: %s", last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_free)(0, gone), "free: %s", last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_free)(0, 0), "nothing was not freed: %s", last_error);

  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_free)(0, gone), hex(gone));
  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_free)(0, bytes), hex(bytes));
  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_free)(0, memory + 8), "invalid device address");

  /* The driver could have given more than was asked for; the program must not count on it. */
  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_host2dev)(0, memory, bytes, SIZE + 1), hex(memory));
  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_host2dev)(0, memory + 8, bytes, SIZE), "invalid size");
  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_dev2host)(0, bytes, memory + 8, SIZE), hex(memory + 8));
  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_dev2host)(0, bytes, memory, (size_t)-1), hex(memory));
  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_memset)(0, memory, 0, SIZE + 1), hex(memory));
  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_dev2dev)(0, memory, memory + 8, SIZE), hex(memory + 8));
  /* Rows of 10 bytes, 100 apart: the last of 11 starts at 1000. */
  CHECK_ERROR(PLUGIN(GOMP_OFFLOAD_memcpy2d)(0, -1, 10, 11, memory, 0, 0, 100, bytes, 0, 0, 10) != 1, "invalid size");
  CHECK_ERROR(PLUGIN(GOMP_OFFLOAD_memcpy3d)(-1, 0, 10, 2, 6, bytes, 0, 0, 0, 10, 2, memory, 0, 0, 0, 100, 2) != 1,
              "invalid size");
  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_host2dev)(0, gone, bytes, 1), hex(gone));
  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_dev2host)(0, bytes, gone + 8, 1), hex(gone + 8));
  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_dev2dev)(0, memory, gone, 1), hex(gone));
  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_memset)(0, gone, 0, 1), hex(gone));

  /* No bytes, wherever they are. */
  CHECK(PLUGIN(GOMP_OFFLOAD_host2dev)(0, gone, bytes, 0) && PLUGIN(GOMP_OFFLOAD_dev2host)(0, bytes, gone, 0) &&
            PLUGIN(GOMP_OFFLOAD_dev2dev)(0, gone, memory, 0) && PLUGIN(GOMP_OFFLOAD_memset)(0, gone, 0, 0),
        "no bytes: %s", last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_memcpy2d)(0, -1, 0, 11, memory, 0, 0, 100, bytes, 0, 0, 10) == 1, "no bytes: %s", last_error);

  for (int shift = -100; shift <= 100; shift += 50) {
    char *from = memory + 100, *to = from + shift;
    CHECK(PLUGIN(GOMP_OFFLOAD_host2dev)(0, memory, bytes, SIZE), "%s", last_error);
    CHECK(PLUGIN(GOMP_OFFLOAD_dev2dev)(0, to, from, SIZE - 200), "moved by %d: %s", shift, last_error);
    CHECK(PLUGIN(GOMP_OFFLOAD_dev2host)(0, back, to, SIZE - 200), "%s", last_error);
    CHECK(!memcmp(back, bytes + 100, SIZE - 200), "moved by %d, the bytes are others", shift);
  }
  CHECK(PLUGIN(GOMP_OFFLOAD_free)(0, memory), "free: %s", last_error);
  CHECK(errors == 0, "a message although all went well: %s", last_error);
  return 0;
}
