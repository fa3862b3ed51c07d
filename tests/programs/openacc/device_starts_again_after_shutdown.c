// boomerang: checks: a device that was shut down can be used again, with its variables and queues
// boomerang: flags: -fno-openmp -fopenacc
// boomerang: env: ACC_DEVICE_TYPE=nvidia
#include <openacc.h>

#include "../check.h"

static int global[4];
#pragma acc declare create(global)

int main(void) {
  for (int round = 0; round < 3; round++) {
    int x = 0;
    acc_init(acc_device_nvidia);
    global[1] = round;
    acc_update_device(global, sizeof global);
#pragma acc parallel copyout(x) async(round)
    x = ++global[1];
    acc_wait(round);
    CHECK(x == round + 1, "round %d gave %d", round, x);
    acc_shutdown(acc_device_nvidia);
  }
  return 0;
}
