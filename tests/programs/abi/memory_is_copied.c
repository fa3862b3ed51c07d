// boomerang: checks: memory is allocated, copied to, within and from the device, and freed, in sizes small and large
#include "plugin.h"

int main(void) {
  start_plugin(0);
  size_t sizes[] = {1, 7, 4096, 1000003, (size_t)9 << 20};
  for (int s = 0; s < 5; s++) {
    size_t size = sizes[s];
    unsigned char *in = malloc(size), *out = calloc(size, 1);
    for (size_t i = 0; i < size; i++)
      in[i] = (unsigned char)(i * 31 + 7);
    char *a = PLUGIN(GOMP_OFFLOAD_alloc)(0, size), *b = PLUGIN(GOMP_OFFLOAD_alloc)(0, size);
    CHECK(a && b && a != b, "%zu bytes: %p and %p", size, (void *)a, (void *)b);
    CHECK(PLUGIN(GOMP_OFFLOAD_host2dev)(0, a, in, size), "%zu bytes to the device: %s", size, last_error);
    CHECK(PLUGIN(GOMP_OFFLOAD_dev2dev)(0, b, a, size), "%zu bytes within the device: %s", size, last_error);
    CHECK(PLUGIN(GOMP_OFFLOAD_dev2host)(0, out, b, size), "%zu bytes from the device: %s", size, last_error);
    CHECK(!memcmp(in, out, size), "%zu bytes came back changed", size);
    if (size > 10) {
      memset(out, 0, size);
      CHECK(PLUGIN(GOMP_OFFLOAD_dev2host)(0, out, a + 3, size - 5), "from the middle: %s", last_error);
      CHECK(!memcmp(in + 3, out, size - 5), "%zu bytes from the middle came back changed", size - 5);
    }
    CHECK(PLUGIN(GOMP_OFFLOAD_host2dev)(0, a, in, 0), "no bytes: %s", last_error);
    CHECK(PLUGIN(GOMP_OFFLOAD_free)(0, a) && PLUGIN(GOMP_OFFLOAD_free)(0, b), "free: %s", last_error);
    free(in);
    free(out);
  }
  CHECK(errors == 0, "a message although all went well: %s", last_error);
  return 0;
}
