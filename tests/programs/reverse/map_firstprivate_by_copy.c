// boomerang: checks: firstprivate reals and structures arrive in a request with the device's values, and changes to them stay on the host
// boomerang: sources: map_firstprivate_by_copy_host.c
// boomerang: stock: dies: libgomp takes firstprivate data for mapped by value unless its alignment is 1
// boomerang: variants: BOOMERANG_DEVICE_RUNTIME=stock | BOOMERANG_INLINE=0 | BOOMERANG_INLINE=64
#include "map_firstprivate_by_copy.h"

#include "../check.h"

#pragma omp requires reverse_offload

int main(void) {
  int wrong = -1;
#pragma omp target map(from : wrong)
  {
    float f = 5.5f;
    double d = 6.25;
    struct text text = {"text"};
    struct big big;
    for (int k = 0; k < BIG; k++)
      big.values[k] = k * k;
#pragma omp target device(ancestor : 1) firstprivate(f, d, text, big)
    {
      check_values(f, d, &text, &big);
      f = 0;
      d = 0;
    }
    wrong = f != 5.5f || d != 6.25 || text.letters[3] != 't';
    for (int k = 0; k < BIG; k++)
      wrong += big.values[k] != k * k;
  }
  CHECK(wrong == 0, "%d of the device's variables changed", wrong);
  return 0;
}
