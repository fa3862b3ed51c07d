// boomerang: checks: abort() called by a served block ends the program at once although the kernel waits
// boomerang: sources: abort_inside_request_host.c
// boomerang: exit: failure
// boomerang: stderr: ^the host gives up$
// boomerang: timeout: 20
#include "../check.h"

#pragma omp requires reverse_offload

void give_up(void);

int main(void) {
#pragma omp target
  {
#pragma omp target device(ancestor : 1)
    give_up();
  }
  CHECK(0, "the region ended well");
}
