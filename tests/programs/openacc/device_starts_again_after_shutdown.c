// boomerang: checks: a device that was shut down can be used again
// boomerang: flags: -fno-openmp -fopenacc
// boomerang: env: ACC_DEVICE_TYPE=nvidia
#include <openacc.h>

#include "../check.h"

int global = 5;
#pragma acc declare create(global)

int main(void) {
  for (int round = 0; round < 3; round++) {
    int x = 0;
    acc_init(acc_device_nvidia);
    global = round;
#pragma acc update device(global)
#pragma acc parallel copyout(x) async(round)
    x = global + 1;
    acc_wait(round);
    CHECK(x == round + 1, "round %d gave %d", round, x);
    acc_shutdown(acc_device_nvidia);
  }
  return 0;
}
