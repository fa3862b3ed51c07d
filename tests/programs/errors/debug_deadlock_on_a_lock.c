// boomerang: checks: a thread that waits for a lock whose holder waits for it is a deadlock, found in bounded time and told with both
// boomerang: flags: -g
// boomerang: on: sim
// boomerang: env: BOOMERANG_SIM_DEADLOCK_MS=500
// boomerang: exit: failure
// boomerang: stderr: ^boomerang-sim: kernel main\$_omp_fn\$0 \(target region in main, [^ ]*debug_deadlock_on_a_lock\.c:[0-9]+\): deadlock$
// boomerang: stderr: ^    team 0, thread [0-3]: barrier 1, where 1 of 4 threads are, in .*, called from [^ ]*debug_deadlock_on_a_lock\.c:22 in 
// boomerang: stderr: ^    team 0, threads [0-3, -]+: a change of the word at 0x[0-9a-f]+, now 0x1 \(set by thread [0-3]\), in omp_set_lock, called from [^ ]*debug_deadlock_on_a_lock\.c:20 in 
#include "../check.h"
#include <omp.h>

int main(void) {
  int x = 0;
#pragma omp target map(tofrom : x)
  {
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel num_threads(4)
    {
      omp_set_lock(&lock);
      x++;
#pragma omp barrier
      omp_unset_lock(&lock);
    }
  }
  CHECK(0, "all four threads held the lock at once, x is %d", x);
}
