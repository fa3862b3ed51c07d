// boomerang: measures: the time to allocate and free 4 MiB, and to copy an int to the device, beside 10, 1000 and 100000 other allocations, and to allocate those
#include <omp.h>

#include "bench.h"

enum { LIVE = 100000, ROUNDS = 5000 };

static void *live[LIVE];

static void measure(int others, int device) {
  char name[60];
  double start = now();
  for (int i = 0; i < ROUNDS; i++) {
    void *block = omp_target_alloc(4 << 20, device);
    if (!block)
      exit(1);
    omp_target_free(block, device);
  }
  snprintf(name, sizeof name, "alloc-free-beside-%d", others);
  report(name, (now() - start) / ROUNDS, "us");
  start = now();
  for (int i = 0; i < ROUNDS; i++)
    omp_target_memcpy(live[i % others], &i, sizeof i, 0, 0, device, omp_get_initial_device());
  snprintf(name, sizeof name, "copy-int-beside-%d", others);
  report(name, (now() - start) / ROUNDS, "us");
}

int main(void) {
  int device = omp_get_default_device(), made = 0;
  int counts[] = {10, 1000, LIVE};
  for (int c = 0; c < 3; c++) {
    int before = made;
    double start = now();
    for (; made < counts[c]; made++) {
      /* Of various sizes, so that few are of one class. */
      live[made] = omp_target_alloc((size_t)256 + (size_t)made * 97 % 8192, device);
      if (!live[made])
        return 1;
    }
    if (c == 2)
      report("alloc-small", (now() - start) / (made - before), "us");
    measure(counts[c], device);
  }
  double start = now();
  for (int i = 0; i < LIVE; i++)
    omp_target_free(live[i], device);
  report("free-small", (now() - start) / LIVE, "us");
  return 0;
}
