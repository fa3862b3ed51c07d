// boomerang: checks: omp_target_alloc of more than there is gives NULL, and the device stays usable
// boomerang: plugins: ours
#include <omp.h>
#include <stdint.h>

#include "../check.h"

int main(void) {
  int device = omp_get_default_device(), x = 1;
  size_t sizes[] = {(size_t)1 << 46, (size_t)1 << 62, SIZE_MAX / 2, SIZE_MAX - 100};
  for (int i = 0; i < 4; i++)
    CHECK(!omp_target_alloc(sizes[i], device), "%zu bytes were given out", sizes[i]);
  void *memory = omp_target_alloc(1 << 20, device);
  CHECK(memory, "1 MiB was refused after the impossible sizes");
  omp_target_free(memory, device);
#pragma omp target map(tofrom : x)
  x++;
  CHECK(x == 2, "x is %d", x);
  return 0;
}
