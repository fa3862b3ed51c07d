// boomerang: checks: `present` in a request, on data that the host doesn't have, ends the program with a message although the kernel waits
// boomerang: sources: map_present_without_data_in_request_host.c
// boomerang: gcc: 14
// boomerang: plugins: ours
// boomerang: exit: failure
// boomerang: stderr: present clause
// boomerang: timeout: 20
#include "../check.h"

#pragma omp requires reverse_offload

void never_called(int *x);

int main(void) {
#pragma omp target
  {
    int local = 1;
#pragma omp target device(ancestor : 1) map(present, tofrom : local)
    never_called(&local);
  }
  CHECK(0, "the region ended well");
}
