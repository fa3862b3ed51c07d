// boomerang: checks: parts of arrays with short rows, many of them, are copied to and from the device, and nothing beside them
// boomerang: variants: BOOMERANG_SIM_FAIL=cuMemHostAlloc=2
#include "plugin.h"

/* Rows of which several lots fill a buffer of 64 KiB, and one that is no short row. */
static const size_t widths[] = {1, 24, 1000, 4096, 5000};
enum { PLANES = 3, ROWS = 200, GAP = 48 };

int main(void) {
  start_plugin(0);
  for (int w = 0; w < 5; w++) {
    size_t width = widths[w], pitch = width + GAP, all = PLANES * (ROWS + 2) * pitch;
    unsigned char *in = malloc(all), *out = malloc(all);
    char *device = PLUGIN(GOMP_OFFLOAD_alloc)(0, all);
    CHECK(in && out && device, "no memory: %s", last_error);
    for (size_t i = 0; i < all; i++)
      in[i] = (unsigned char)(i * 7 + i / 251) | 1;
    CHECK(PLUGIN(GOMP_OFFLOAD_memset)(0, device, 0, all), "%s", last_error);
    memset(out, 0, all);
    /* The device's array has its planes one behind the other, the host's two more rows in each. */
    for (int back = 0; back < 2; back++) {
      int done = back ? PLUGIN(GOMP_OFFLOAD_memcpy3d)(-1, 0, width, ROWS, PLANES, out, 5, 1, 0, pitch, ROWS + 2, device, 3, 0,
                                                      0, pitch, ROWS)
                      : PLUGIN(GOMP_OFFLOAD_memcpy3d)(0, -1, width, ROWS, PLANES, device, 3, 0, 0, pitch, ROWS, in, 5, 1, 0,
                                                      pitch, ROWS + 2);
      CHECK(done == 1, "rows of %zu bytes: %s", width, last_error);
    }
    for (size_t i = 0; i < all; i++) {
      size_t row = i / pitch % (ROWS + 2), byte = i % pitch;
      int inside = row >= 1 && row <= ROWS && byte >= 5 && byte < 5 + width;
      CHECK(out[i] == (inside ? in[i] : 0), "rows of %zu bytes: byte %zu is %d", width, i, out[i]);
    }
    CHECK(PLUGIN(GOMP_OFFLOAD_free)(0, device), "free: %s", last_error);
    free(in);
    free(out);
  }
  CHECK(errors == 0, "a message although all went well: %s", last_error);
  return 0;
}
