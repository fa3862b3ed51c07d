// boomerang: checks: an unprotected update by the threads of a team is a data race, reported with both accesses
// boomerang: flags: -g
// boomerang: on: sim
// boomerang: env: BOOMERANG_SIM_CHECK=races
// boomerang: exit: failure
// boomerang: stderr: : data race$
// boomerang: stderr: ^  at [^ ]*debug_data_race\.c:17 in 
// boomerang: stderr: ^  4 bytes (read|write) at 0x[0-9a-f]+, [0-9]+ bytes inside device memory
// boomerang: stderr: ^  thread [0-3] (read|wrote) it before, at [^ ]*debug_data_race\.c:17 in .*: (ld|st)\.u32 
// boomerang: stderr: ^  and nothing orders the two$
#include "../check.h"

int main(void) {
  int count = 0;
#pragma omp target parallel for map(tofrom : count) num_threads(4)
  for (int i = 0; i < 64; i++)
    count += i;
  CHECK(0, "nobody saw the race, the sum is %d", count);
}
