// boomerang: checks: a region launched by a served block makes requests of its own, three levels deep
// boomerang: sources: request_from_region_inside_request_host.c request_from_region_inside_request_back.c
// boomerang: stock: hangs: the inner kernel is queued behind the outer one, which waits for it
#include "../check.h"

#pragma omp requires reverse_offload

void descend(int levels, int *sum);

int main(void) {
  int sum = 0;
  descend(3, &sum);
  CHECK(sum == 3 + 2 + 1, "levels 3, 2 and 1 added up to %d", sum);
  return 0;
}
