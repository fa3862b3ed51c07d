// boomerang: checks: a fault in one host thread's region also ends another thread that waits for its own, in bounded time
// boomerang: sources: fault_while_other_thread_waits_host.c
// boomerang: plugins: ours
// boomerang: exit: failure
// boomerang: stderr: omp_fn
// boomerang: timeout: 20
// boomerang: variants: BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll
#include <omp.h>

#include "../check.h"

#pragma omp requires reverse_offload

void other_kernel_runs(void);
void wait_for_other_kernel(void);

int main(void) {
  /* Before there are threads: they inherit a default device only if libgomp has looked for devices already. */
  CHECK(omp_get_num_devices() > 0, "no device");
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == 0) {
    int stop = 0;
#pragma omp target map(to : stop)
    {
#pragma omp target device(ancestor : 1)
      other_kernel_runs();
      while (!*(volatile int *)&stop)
        ;
    }
  } else {
    unsigned long address = 0x10;
    wait_for_other_kernel();
#pragma omp target firstprivate(address)
    *(volatile int *)address = 1;
  }
  CHECK(0, "regions that fault and never end have ended well");
}
