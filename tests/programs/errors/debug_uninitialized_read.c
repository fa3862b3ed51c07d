// boomerang: checks: a read of device memory that nobody has written is reported, with the allocation
// boomerang: flags: -g
// boomerang: on: sim
// boomerang: env: BOOMERANG_SIM_CHECK=uninitialized BOOMERANG_POOL=off
// boomerang: exit: failure
// boomerang: stderr: : read of uninitialized memory$
// boomerang: stderr: ^  at [^ ]*debug_uninitialized_read\.c:19 in 
// boomerang: stderr: ^  8 bytes read at 0x[0-9a-f]+, [0-9]+ bytes inside device memory of device 0: 80[0-9]+ bytes at
// boomerang: stderr: ^  nothing was ever written there since it was allocated$
#include "../check.h"

#define N 10000

int main(void) {
  double *a = calloc(N, sizeof *a), sum = 0;
  // map(from) copies nothing to the device. (libgomp fills gaps of up to 4 KB between what it copies, with anything.)
#pragma omp target parallel for map(from : a[:N]) map(tofrom : sum) reduction(+ : sum) num_threads(4)
  for (int i = 0; i < N; i++)
    sum += a[i];
  CHECK(0, "what nobody had written was read, the sum is %g", sum);
}
