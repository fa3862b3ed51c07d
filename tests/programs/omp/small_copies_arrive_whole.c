// boomerang: checks: copies of 1 to 1100 bytes from any device address arrive whole, whatever they hold, and write nothing else
// boomerang: variants: BOOMERANG_WAIT=spin | BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll | BOOMERANG_SIM_MEMOPS=0
#include <omp.h>
#include <string.h>

#include "../check.h"

enum { MOST = 1100, AROUND = 8, SIZE = MOST + 2 * AROUND };

int main(void) {
  int device = omp_get_default_device(), host = omp_get_initial_device();
  unsigned char sent[SIZE], got[SIZE], expected[SIZE];
  unsigned random = 1;
  void *memory = omp_target_alloc(sizeof sent, device);
  CHECK(memory, "no memory");
  for (int bytes = 1; bytes <= MOST; bytes++)
    for (int skip = 0; skip < 4; skip++) {
      /* One of four times the same value all over, which a copy before may have left where this one arrives. */
      for (int i = 0; i < SIZE; i++)
        sent[i] = bytes % 4 ? (random = random * 1664525 + 1013904223) >> 24 : bytes % 8 ? 0 : 0xff;
      CHECK(!omp_target_memcpy(memory, sent, sizeof sent, 0, 0, device, host), "to the device");
      memset(got, 0x5a, sizeof got);
      memset(expected, 0x5a, sizeof expected);
      memcpy(expected + AROUND - skip, sent + skip, bytes);
      CHECK(!omp_target_memcpy(got, memory, bytes, AROUND - skip, skip, host, device), "to the host");
      CHECK(!memcmp(got, expected, sizeof got), "%d bytes from byte %d on came wrong", bytes, skip);
    }
  omp_target_free(memory, device);
  return 0;
}
