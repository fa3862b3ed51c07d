// boomerang: checks: a kernel that faults after some requests ends the program soon, with a message that names the kernel
// boomerang: sources: fault_after_requests_host.c
// boomerang: plugins: ours
// boomerang: exit: failure
// boomerang: stderr: main.*omp_fn
// boomerang: stdout: ^3 requests$
// boomerang: timeout: 20
// boomerang: variants: BOOMERANG_WAIT=spin | BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll
#include "../check.h"

#pragma omp requires reverse_offload

void count(int i);

int main(void) {
  unsigned long address = 0x10;
#pragma omp target firstprivate(address)
  {
    for (int i = 1; i <= 3; i++) {
#pragma omp target device(ancestor : 1) firstprivate(i)
      count(i);
    }
    *(volatile int *)address = 1;
  }
  CHECK(0, "a region that wrote to address 0x10 ended well");
}
