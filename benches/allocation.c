// boomerang: measures: the time to allocate and to free 4 MiB and 256 MiB of device memory
#include <omp.h>

#include "bench.h"

static struct series s;

static void measure(const char *name, size_t bytes) {
  int device = omp_get_default_device();
  for (begin(&s, 5000, 10); more(&s); lap(&s)) {
    void *block = omp_target_alloc(bytes, device);
    if (!block)
      exit(1);
    omp_target_free(block, device);
  }
  report_series(name, &s, 1);
}

int main(void) {
  measure("alloc-free-4-mib", (size_t)4 << 20);
  measure("alloc-free-256-mib", (size_t)256 << 20);
  return 0;
}
