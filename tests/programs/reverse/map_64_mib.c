// boomerang: checks: a request maps 64 MiB both ways while its kernel waits, whether the region had mapped them or not
// boomerang: sources: map_64_mib_host.c
// boomerang: variants: BOOMERANG_DEVICE_RUNTIME=stock | BOOMERANG_INLINE=0 | BOOMERANG_INLINE=64
#include <omp.h>
#include <stddef.h>

#include "../check.h"

#pragma omp requires reverse_offload

#define N ((size_t)16 << 20)
#define STEP ((size_t)65536)

void check_and_negate(int *array, size_t n, size_t step, int factor);

int main(void) {
  int *array = calloc(N, sizeof *array), *raw = omp_target_alloc(N * sizeof *raw, omp_get_default_device());
  int wrong = 0;
  CHECK(array && raw, "no memory");

  /* Data that the region has mapped. */
#pragma omp target map(tofrom : array[0 : N]) map(tofrom : wrong)
  {
    for (size_t i = 0; i < N; i += STEP)
      array[i] = (int)(i / STEP) * 3;
#pragma omp target device(ancestor : 1) map(always, tofrom : array[0 : N])
    check_and_negate(array, N, STEP, 3);
    for (size_t i = 0; i < N; i += STEP)
      wrong += array[i] != -(int)(i / STEP) * 3;
  }
  CHECK(wrong == 0, "%d elements of the mapped array are wrong on the device", wrong);

  /* Device memory that libgomp knows nothing of. */
#pragma omp target is_device_ptr(raw) map(tofrom : wrong)
  {
    for (size_t i = 0; i < N; i += STEP)
      raw[i] = (int)(i / STEP) * 5;
#pragma omp target device(ancestor : 1) map(tofrom : raw[0 : N])
    check_and_negate(raw, N, STEP, 5);
    for (size_t i = 0; i < N; i += STEP)
      wrong += raw[i] != -(int)(i / STEP) * 5;
  }
  CHECK(wrong == 0, "%d elements of the device's array are wrong on the device", wrong);
  omp_target_free(raw, omp_get_default_device());
  free(array);
  return 0;
}
