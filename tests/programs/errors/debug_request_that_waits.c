// boomerang: checks: a region that waits long for the host to serve a request is told of, once, and goes on when it is served
// boomerang: sources: debug_request_that_waits_host.c
// boomerang: flags: -g
// boomerang: on: sim
// boomerang: env: BOOMERANG_SIM_DEADLOCK_MS=300
// boomerang: stderr: ^boomerang-sim: kernel main\$_omp_fn\$0 \(target region in main, [^ ]*debug_request_that_waits\.c:[0-9]+\): no progress, it waits for the host$
// boomerang: stderr: ^    team 0, thread 0: the host, to serve its request and change the word at 0x[0-9a-f]+, now 0x[0-9a-f]+, in GOMP_target_ext, called from [^ ]*debug_request_that_waits\.c:19 in 
#include "../check.h"

#pragma omp requires reverse_offload

void serve_slowly(int *x);

int main(void) {
  int x = 0;
#pragma omp target map(tofrom : x)
  {
    int reply = 1;
#pragma omp target device(ancestor : 1) map(always, tofrom : reply)
    serve_slowly(&reply);
    x = 2 * reply;
  }
  CHECK(x == 4, "x is %d", x);
  return 0;
}
