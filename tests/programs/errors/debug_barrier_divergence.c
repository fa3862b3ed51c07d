// boomerang: checks: threads of a team that wait at different barriers are named, each with its barrier and line
// boomerang: flags: -g
// boomerang: on: sim
// boomerang: exit: failure
// boomerang: stderr: : deadlock$
// boomerang: stderr: ^  its threads wait at different barriers; who waits for what:$
// boomerang: stderr: ^    team 0, thread 2: barrier 1, where 1 of 4 threads are, in .*; its last barrier before was at [^ ]*debug_barrier_divergence\.c:15 in meet 
// boomerang: stderr: ^    team 0, threads 1, 3-[0-9]+: barrier 0, where 
#include "../check.h"
#include <omp.h>

// Out of line: OpenMP allows no barrier in a branch of the construct itself, in what it calls the compiler can't tell.
#pragma omp begin declare target
__attribute__((noinline)) static void meet(void) {
#pragma omp barrier
}
#pragma omp end declare target

int main(void) {
  int x = 0;
#pragma omp target parallel map(tofrom : x) num_threads(4)
  {
    if (omp_get_thread_num() == 2)
      meet();
#pragma omp atomic
    x++;
  }
  CHECK(0, "a barrier for one of 4 threads let it go, x is %d", x);
}
