// boomerang: checks: a request works on declare-target data of the host, and `always` brings the block's changes to the device
// boomerang: sources: map_global_data_host.c
// boomerang: variants: BOOMERANG_DEVICE_RUNTIME=stock | BOOMERANG_INLINE=0 | BOOMERANG_INLINE=64
#include "../check.h"

#pragma omp requires reverse_offload

#pragma omp begin declare target
int counter = 1;
int table[4] = {1, 2, 3, 4};
#pragma omp end declare target

void bump(int *x);

int main(void) {
  int before, unmapped, mapped, element;
#pragma omp target map(from : before, unmapped, mapped, element)
  {
    before = counter;
    counter = 10;
#pragma omp target device(ancestor : 1)
    bump(&counter);
    unmapped = counter;
#pragma omp target device(ancestor : 1) map(always, tofrom : counter, table)
    {
      bump(&counter);
      bump(&table[2]);
    }
    mapped = counter;
    element = table[2];
  }
  CHECK(before == 1, "the device started with %d", before);
  CHECK(unmapped == 10, "a request without a map changed the device's copy to %d", unmapped);
  CHECK(mapped == 11, "always,tofrom left %d on the device", mapped);
  CHECK(element == 4, "always,tofrom left table[2] = %d on the device", element);
  return 0;
}
