// boomerang: checks: exit() called by a served block ends the program at once, with the status given, while another region runs
// boomerang: sources: end_inside_request_while_others_run_host.c
// boomerang: plugins: ours
// boomerang: args: exit
// boomerang: exit: 7
// boomerang: stderr-lines: 0
// boomerang: timeout: 20
// boomerang: variants: BOOMERANG_WAIT=spin | BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll | BOOMERANG_DEVICE_RUNTIME=stock
#include <omp.h>

#include "../check.h"

#pragma omp requires reverse_offload

extern const char *way;
void other_kernel_runs(void);
void wait_for_other_kernel(void);
void leave(void);

int main(int argc, char **argv) {
  CHECK(argc == 2, "the program needs to know how to end");
  way = argv[1];
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
    wait_for_other_kernel();
#pragma omp target
    {
#pragma omp target device(ancestor : 1)
      leave();
    }
  }
  CHECK(0, "regions that never end have ended");
}
