// boomerang: checks: an overrun is reported with region, team, thread, source line, address, and the allocation with who made it
// boomerang: flags: -g
// boomerang: on: sim
// boomerang: env: BOOMERANG_POOL=off
// boomerang: exit: failure
// boomerang: stderr: ^boomerang-sim: kernel main\$_omp_fn\$0 \(target region in main, [^ ]*debug_out_of_bounds\.c:[0-9]+\): illegal address \(out of bounds\)$
// boomerang: stderr: ^  team 3 of 4, thread [0-9]+ of [0-9]+, lane [0-9]+: block \(3,0,0\) thread \(
// boomerang: stderr: ^  at [^ ]*debug_out_of_bounds\.c:16 in .*: (ld|st)\.u32 
// boomerang: stderr: ^  4 bytes (read|write) at 0x[0-9a-f]+, [0-9]+ bytes (behind|inside and beyond the end of) device memory of device 0: 4[0-9]+ bytes at 0x
// boomerang: stderr: ^  allocated by GOMP_target_ext in main, [^ ]*debug_out_of_bounds\.c:21$
#include "../check.h"

#define N 100

static void bump(int *a, int i) {
  a[i] += 1;
}

int main(void) {
  int *a = calloc(N, sizeof *a);
#pragma omp target teams distribute parallel for map(tofrom : a[:N]) num_teams(4) thread_limit(8)
  for (int i = 0; i < N + 20; i++)
    bump(a, i);
  CHECK(0, "twenty elements behind the array were written, a[5] is %d", a[5]);
}
