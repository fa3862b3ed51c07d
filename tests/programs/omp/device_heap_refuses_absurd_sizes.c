// boomerang: checks: device code gets no memory when it asks for more than any device has, up to the largest number (CUDA's own malloc gives a small block)
// boomerang: plugins: ours
// boomerang: variants: BOOMERANG_HEAP=131072
#include <stdint.h>

#include "../check.h"

int main(void) {
  size_t sizes[] = {(size_t)1 << 40, (size_t)1 << 48, (size_t)1 << 63, SIZE_MAX - 4096, SIZE_MAX - 15, SIZE_MAX - 8, SIZE_MAX};
  enum { SIZES = sizeof sizes / sizeof *sizes };
  void *got[SIZES];
#pragma omp target map(from : got)
  for (int i = 0; i < SIZES; i++)
    got[i] = malloc(sizes[i]);
  for (int i = 0; i < SIZES; i++)
    CHECK(!got[i], "%zu bytes at %p", sizes[i], got[i]);
  return 0;
}
