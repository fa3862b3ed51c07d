// boomerang: checks: a misaligned access is reported with its line, its address and the alignment it must have
// boomerang: flags: -g
// boomerang: on: sim
// boomerang: exit: failure
// boomerang: stderr: misaligned address$
// boomerang: stderr: ^  at [^ ]*debug_misaligned_access\.c:16 in 
// boomerang: stderr: ^  8 bytes write at 0x[0-9a-f]+[4c], [0-9]+ bytes inside device memory
// boomerang: stderr: ^  the address must be a multiple of 8$
#include "../check.h"

int main(void) {
  char bytes[64] = {0};
#pragma omp target map(tofrom : bytes)
  {
    char *p = bytes + 4;
    *(volatile double *)p = 1;
  }
  CHECK(0, "a double was written to an address that is no multiple of 8, the first byte is %d", bytes[0]);
}
