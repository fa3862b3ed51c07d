// boomerang: checks: pointers in mapped structures point, in a request, to the host's copy of what they point to on the device
// boomerang: sources: map_attached_pointers_host.c
// boomerang: variants: BOOMERANG_DEVICE_RUNTIME=stock | BOOMERANG_INLINE=0 | BOOMERANG_INLINE=64
#include "map_attached_pointers.h"

#include "../check.h"

#pragma omp requires reverse_offload

int main(void) {
  int local[5], outer[5] = {1, 2, 3, 4, 5}, lengths[2];
  struct vector v = {5, outer};

  /* All of it is the device's own. */
#pragma omp target map(from : local, lengths)
  {
    int storage[5] = {10, 20, 30, 40, 50};
    struct vector w = {5, storage};
#pragma omp target device(ancestor : 1) map(tofrom : w.length) map(tofrom : w.data, w.data[0 : 5])
    add_to_vector(&w, 1);
    lengths[0] = w.length;
    for (int i = 0; i < 5; i++)
      local[i] = storage[i];
  }
  CHECK(lengths[0] == 6, "length came back as %d", lengths[0]);
  for (int i = 0; i < 5; i++)
    CHECK(local[i] == 10 * (i + 1) + 1, "element %d came back as %d", i, local[i]);

  /* The region has mapped it. */
#pragma omp target map(tofrom : v, v.data[0 : 5]) map(from : lengths)
  {
    for (int i = 0; i < 5; i++)
      v.data[i] *= 2;
#pragma omp target device(ancestor : 1) map(tofrom : v) map(always, tofrom : v.data[0 : 5])
    add_to_vector(&v, 100);
    lengths[1] = v.length;
  }
  CHECK(v.data == outer, "the host's pointer was overwritten");
  for (int i = 0; i < 5; i++)
    CHECK(outer[i] == 2 * (i + 1) + 100, "mapped element %d came back as %d", i, outer[i]);
  return 0;
}
