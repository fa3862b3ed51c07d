// boomerang: measures: what the CUDA driver alone needs to allocate, to free and to copy: the floor for memory
// boomerang: compiler: system
#include <string.h>

#include "bench.h"
#include "raw.h"

static int (*allocate)(uint64_t *, size_t);
static int (*release)(uint64_t);
static int (*to_device)(uint64_t, const void *, size_t);
static int (*from_device)(void *, uint64_t, size_t);

static const size_t MIB = 1 << 20;
static struct series s;

static void allocations(const char *name, size_t bytes) {
  for (begin(&s, 5000, 10); more(&s); lap(&s)) {
    uint64_t block;
    check(allocate(&block, bytes), "cuMemAlloc");
    check(release(block), "cuMemFree");
  }
  report_series(name, &s, 1);
}

static void copies(const char *size, char *host, uint64_t device, size_t bytes) {
  char name[60];
  for (begin(&s, 200, 1); more(&s); lap(&s))
    check(to_device(device, host, bytes), "cuMemcpyHtoD");
  snprintf(name, sizeof name, "copy-to-device-%s", size);
  report_bandwidth(name, &s, (double)bytes);
  for (begin(&s, 200, 1); more(&s); lap(&s))
    check(from_device(host, device, bytes), "cuMemcpyDtoH");
  snprintf(name, sizeof name, "copy-from-device-%s", size);
  report_bandwidth(name, &s, (double)bytes);
}

int main(void) {
  void *before;
  raw_start_context(&before);
  *(void **)&allocate = raw_function("cuMemAlloc_v2");
  *(void **)&release = raw_function("cuMemFree_v2");
  *(void **)&to_device = raw_function("cuMemcpyHtoD_v2");
  *(void **)&from_device = raw_function("cuMemcpyDtoH_v2");
  allocations("alloc-free-4-mib", 4 * MIB);
  allocations("alloc-free-256-mib", 256 * MIB);

  size_t large = 256 * MIB;
  uint64_t device;
  char *pageable = malloc(large), *pinned = raw_pinned(large);
  check(allocate(&device, large), "cuMemAlloc");
  memset(pageable, 1, large);
  memset(pinned, 1, large);
  copies("4-mib", pageable, device, 4 * MIB);
  copies("256-mib", pageable, device, large);
  copies("256-mib-pinned", pinned, device, large);
  return 0;
}
