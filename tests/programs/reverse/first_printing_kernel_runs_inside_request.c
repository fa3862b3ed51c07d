// boomerang: checks: the first kernel that prints, and copies, may be launched while another kernel waits for the block that does so
// boomerang: sources: first_printing_kernel_runs_inside_request_host.c
// boomerang: stdout: ^the device prints 42$
// boomerang: stock: hangs: a region inside a request waits for the one that made it
// boomerang: variants: BOOMERANG_DEVICE_RUNTIME=stock | CUDA_DEVICE_MAX_CONNECTIONS=2
#include <omp.h>

#include "../check.h"

#pragma omp requires reverse_offload

int print_on_device(void);

int main(void) {
  int printed = 0;
  CHECK(omp_get_num_devices() > 0, "no device");
#pragma omp target map(tofrom : printed) thread_limit(1)
  {
#pragma omp target device(ancestor : 1) map(always, tofrom : printed)
    printed = print_on_device();
  }
  CHECK(printed == 42, "%d", printed);
  return 0;
}
