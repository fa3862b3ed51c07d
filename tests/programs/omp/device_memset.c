// boomerang: checks: omp_target_memset fills exactly the bytes named
// boomerang: gcc: 16
#include <omp.h>

#include "../check.h"

int main(void) {
  enum { SIZE = 5000 };
  unsigned char bytes[SIZE];
  int device = omp_get_default_device(), host = omp_get_initial_device();
  unsigned char *memory = omp_target_alloc(SIZE, device);
  CHECK(omp_target_memset(memory, 1, SIZE, device) == memory, "memset did not return its pointer");
  omp_target_memset(memory + 3, 0xab, 1001, device);
  omp_target_memset(memory + 4000, 0x1ff, 1, device);
  omp_target_memset(memory + 4500, 7, 0, device);
  CHECK(!omp_target_memcpy(bytes, memory, SIZE, 0, 0, host, device), "reading back");
  for (int i = 0; i < SIZE; i++) {
    int expected = i == 4000 ? 0xff : i >= 3 && i < 1004 ? 0xab : 1;
    CHECK(bytes[i] == expected, "byte %d is %#x", i, bytes[i]);
  }
  omp_target_free(memory, device);
  return 0;
}
