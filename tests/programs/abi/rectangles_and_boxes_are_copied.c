// boomerang: checks: 2D and 3D copies move the rows named, to, within and from the device
#include "plugin.h"

enum { LAYERS = 3, ROWS = 5, BYTES = 40, ALL = LAYERS * ROWS * BYTES };

static char pattern(int i) { return (char)(i * 7 + i / 256); }

/* Rows 1 and 2, and bytes 10 to 29, of layers 1 and 2. */
static int inside(int i, int first_layer) {
  int layer = i / (ROWS * BYTES), row = i / BYTES % ROWS, byte = i % BYTES;
  return layer >= first_layer && layer < (first_layer ? 3 : 1) && row >= 1 && row < 3 && byte >= 10 && byte < 30;
}

static void check(const char *out, int first_layer, const char *what) {
  for (int i = 0; i < ALL; i++)
    CHECK(out[i] == (inside(i, first_layer) ? pattern(i) : 0), "%s: byte %d is %d", what, i, out[i]);
}

int main(void) {
  start_plugin(0);
  char in[ALL], out[ALL], zero[ALL] = {0};
  for (int i = 0; i < ALL; i++)
    in[i] = pattern(i);
  char *a = PLUGIN(GOMP_OFFLOAD_alloc)(0, ALL), *b = PLUGIN(GOMP_OFFLOAD_alloc)(0, ALL);
  CHECK(a && b, "no memory: %s", last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_host2dev)(0, a, in, ALL), "%s", last_error);

  /* Device number -1 is the host. */
  struct {
    const char *what;
    int to, from;
  } ways[] = {{"to the device", 0, -1}, {"within the device", 0, 0}, {"from the device", -1, 0}};
  for (int w = 0; w < 3; w++) {
    char *to = ways[w].to ? out : b, *from = ways[w].from ? in : a;
    for (int dimensions = 2; dimensions <= 3; dimensions++) {
      memset(out, 0, ALL);
      CHECK(PLUGIN(GOMP_OFFLOAD_host2dev)(0, b, zero, ALL), "%s", last_error);
      int done = dimensions == 2
                     ? PLUGIN(GOMP_OFFLOAD_memcpy2d)(ways[w].to, ways[w].from, 20, 2, to, 10, 1, BYTES, from, 10, 1, BYTES)
                     : PLUGIN(GOMP_OFFLOAD_memcpy3d)(ways[w].to, ways[w].from, 20, 2, 2, to, 10, 1, 1, BYTES, ROWS, from,
                                                     10, 1, 1, BYTES, ROWS);
      CHECK(done == 1, "%dD %s: %d, %s", dimensions, ways[w].what, done, last_error);
      if (!ways[w].to)
        CHECK(PLUGIN(GOMP_OFFLOAD_dev2host)(0, out, b, ALL), "%s", last_error);
      check(out, dimensions - 2, ways[w].what);
    }
  }
  CHECK(PLUGIN(GOMP_OFFLOAD_free)(0, a) && PLUGIN(GOMP_OFFLOAD_free)(0, b), "free: %s", last_error);
  return 0;
}
