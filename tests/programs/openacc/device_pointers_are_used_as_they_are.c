// boomerang: checks: deviceptr and host_data pass device addresses, and the memory routines use them
// boomerang: flags: -fno-openmp -fopenacc
// boomerang: env: ACC_DEVICE_TYPE=nvidia
#include <openacc.h>

#include "../check.h"

enum { N = 1000 };

int main(void) {
  int a[N], b[N];
  for (int i = 0; i < N; i++)
    a[i] = i;
  int *device = acc_malloc(2 * sizeof a);
  CHECK(device, "no memory");
  acc_memcpy_to_device(device, a, sizeof a);
#pragma acc parallel loop deviceptr(device)
  for (int i = 0; i < N; i++)
    device[N + i] = device[i] + 1;
#if __GNUC__ >= 16
  acc_memcpy_device(device, device + N, sizeof a);
#else
  acc_memcpy_from_device(b, device + N, sizeof b);
  acc_memcpy_to_device(device, b, sizeof b);
#endif
  acc_memcpy_from_device(b, device, sizeof b);
  for (int i = 0; i < N; i++)
    CHECK(b[i] == i + 1, "b[%d] is %d", i, b[i]);

#pragma acc data copyin(a)
  {
    int *there;
#pragma acc host_data use_device(a)
    there = a;
    CHECK(there != a && there == acc_deviceptr(a) && acc_hostptr(there) == a, "host_data gave %p for %p", (void *)there, (void *)a);
    acc_memcpy_to_device_async(there, b, sizeof b, 4);
    acc_memcpy_from_device_async(b, there, sizeof b, 4);
    acc_wait(4);
  }
  for (int i = 0; i < N; i++)
    CHECK(b[i] == i + 1, "b[%d] is %d after the asynchronous copies", i, b[i]);
  acc_free(device);

  acc_map_data(a, device = acc_malloc(sizeof a), sizeof a);
#pragma acc parallel loop present(a)
  for (int i = 0; i < N; i++)
    a[i] = 5 * i;
  acc_update_self(a, sizeof a);
  acc_unmap_data(a);
  acc_free(device);
  for (int i = 0; i < N; i++)
    CHECK(a[i] == 5 * i, "a[%d] is %d", i, a[i]);
  return 0;
}
