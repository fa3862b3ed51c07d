// boomerang: measures: malloc and free of 64 bytes in device code where the heap has grown: the part that is there at first is full
// boomerang: flags: -ldl
// boomerang: stock: skip: the heap does not grow
#include "device_malloc.h"

/* Fills 64 MiB in pages of 16 KiB; how many blocks could not be allocated. */
static int fill(void) {
  int none = 0;
#pragma omp target map(tofrom : none)
  for (int i = 0; i < 200; i++) {
    char *volatile block = malloc(i < 63 ? (1 << 20) - 16 : 16000);
    none += !block;
  }
  return none;
}

int main(void) {
  int none = fill();
  none += measure_pairs("malloc-free-grown-one-thread", "malloc-free-grown-132-teams");
  if (none != 0) {
    fprintf(stderr, "%d blocks could not be allocated\n", none);
    return 1;
  }
  return 0;
}
