// boomerang: measures: the bandwidth of copies between the device and the host's pageable memory, 4 MiB and 256 MiB, and pinned memory
// boomerang: flags: -ldl
#include <omp.h>
#include <string.h>

#include "bench.h"
#include "raw.h"

enum { COPIES = 200 };

static const size_t MIB = 1 << 20;
static struct series s;

static void measure(const char *size, char *host, char *device, size_t bytes) {
  char name[60];
  int to = omp_get_default_device(), from = omp_get_initial_device(), wrong = 0;
  for (begin(&s, COPIES, 1); more(&s); lap(&s))
    wrong |= omp_target_memcpy(device, host, bytes, 0, 0, to, from);
  snprintf(name, sizeof name, "copy-to-device-%s", size);
  report_bandwidth(name, &s, (double)bytes);
  for (begin(&s, COPIES, 1); more(&s); lap(&s))
    wrong |= omp_target_memcpy(host, device, bytes, 0, 0, from, to);
  snprintf(name, sizeof name, "copy-from-device-%s", size);
  report_bandwidth(name, &s, (double)bytes);
  if (wrong) {
    fprintf(stderr, "a copy failed\n");
    exit(1);
  }
}

int main(void) {
  size_t large = 256 * MIB;
  char *pageable = malloc(large), *device = omp_target_alloc(large, omp_get_default_device());
  if (!pageable || !device)
    return 1;
  /* In memory, and not one page of zeros. */
  memset(pageable, 1, large);
  measure("4-mib", pageable, device, 4 * MIB);
  measure("256-mib", pageable, device, large);
  char *pinned = raw_pinned(large);
  memset(pinned, 1, large);
  measure("256-mib-pinned", pinned, device, large);
  return 0;
}
