// boomerang: checks: a fault that another host thread's copies, of 4 KiB and of 4 bytes, may notice first is told of with the name of the kernel
// boomerang: plugins: ours
// boomerang: exit: failure
// boomerang: stderr: main.*omp_fn
// boomerang: not-stderr: cuMemFree|finalization failed
// boomerang: timeout: 20
// boomerang: variants: BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll
#include <omp.h>

#include "../check.h"

int main(void) {
  static int data[1024];
  /* Before there are threads: they inherit a default device only if libgomp has looked for devices already. */
  CHECK(omp_get_num_devices() > 0, "no device");
#pragma omp target enter data map(to : data)
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == 0) {
    for (;;) {
#pragma omp target update from(data)
#pragma omp target update from(data[:1])
    }
  } else {
    unsigned long address = 0x10;
#pragma omp target firstprivate(address)
    *(volatile int *)address = 1;
  }
  CHECK(0, "a region that wrote to address 0x10 ended well");
}
