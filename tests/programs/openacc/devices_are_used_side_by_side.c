// boomerang: checks: regions, queues and properties are those of the device that the thread has chosen
// boomerang: flags: -fno-openmp -fopenacc
// boomerang: env: ACC_DEVICE_TYPE=nvidia
// boomerang: variants: BOOMERANG_SIM_DEVICES=2
#include <openacc.h>

#include "../check.h"

enum { N = 1000 };
static int a[2][N];

int main(void) {
  int devices = acc_get_num_devices(acc_device_nvidia);
  devices = devices > 2 ? 2 : devices;
  for (int round = 0; round < 3; round++)
    for (int d = 0; d < devices; d++) {
      acc_set_device_num(d, acc_device_nvidia);
      int *mine = a[d];
      if (round == 0) {
#pragma acc enter data copyin(mine[:N]) async(1)
      }
#pragma acc parallel loop present(mine[:N]) async(1)
      for (int i = 0; i < N; i++)
        mine[i] += i + d;
      CHECK(acc_get_cuda_stream(1), "queue 1 of device %d has no stream", d);
      CHECK(acc_get_current_cuda_context(), "device %d has no context", d);
    }
  for (int d = 0; d < devices; d++) {
    acc_set_device_num(d, acc_device_nvidia);
    int *mine = a[d];
#pragma acc exit data copyout(mine[:N]) async(1)
#pragma acc wait(1)
    for (int i = 0; i < N; i++)
      CHECK(mine[i] == 3 * (i + d), "device %d: element %d is %d", d, i, mine[i]);
    CHECK(acc_get_property(d, acc_device_nvidia, acc_property_memory) > 0, "device %d has no memory", d);
  }
  return 0;
}
