// boomerang: checks: structures travel in a request whole, by members, and by members that are arrays
// boomerang: sources: map_structs_host.c
// boomerang: variants: BOOMERANG_DEVICE_RUNTIME=stock | BOOMERANG_INLINE=0 | BOOMERANG_INLINE=64
#include "map_structs.h"

#include "../check.h"

#pragma omp requires reverse_offload

int main(void) {
  struct record whole, parts;
#pragma omp target map(from : whole, parts)
  {
    struct record a = {1, 2.5, {10, 20, 30, 40}, 'x'};
    struct record b = {2, 3.5, {50, 60, 70, 80}, 'y'};
#pragma omp target device(ancestor : 1) map(tofrom : a)
    change_whole(&a);
#pragma omp target device(ancestor : 1) map(tofrom : b.id, b.list)
    change_parts(&b.id, b.list);
    whole = a;
    parts = b;
  }
  CHECK(whole.id == 2 && whole.weight == 5.0 && whole.list[3] == 44 && whole.tag == 'y',
        "whole: %d %g %d %c", whole.id, whole.weight, whole.list[3], whole.tag);
  CHECK(parts.id == -2 && parts.list[0] == -50 && parts.list[3] == -80, "members: %d %d %d", parts.id,
        parts.list[0], parts.list[3]);
  CHECK(parts.weight == 3.5 && parts.tag == 'y', "members not mapped: %g %c", parts.weight, parts.tag);
  return 0;
}
