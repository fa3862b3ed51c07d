// boomerang: checks: a thread whose frames do not fit its soft stack is stopped before it writes into the next one's, with the calls
// boomerang: flags: -g
// boomerang: on: sim
// boomerang: exit: failure
// boomerang: stderr: stack overflow$
// boomerang: stderr: ^  at [^ ]*debug_soft_stack_overflow\.c:[0-9]+ in deep 
// boomerang: stderr: ^  called from [^ ]*debug_soft_stack_overflow\.c:15 in deep .*, [0-9]+ times$
// boomerang: stderr: ^  the OpenMP thread has 131072 bytes of soft stack, this function needs [0-9]+ bytes more$
#include "../check.h"

#pragma omp begin declare target
__attribute__((noinline)) static int deep(int n) {
  volatile char frame[10000];
  frame[n] = n;
  return n == 0 ? frame[0] : deep(n - 1) + frame[n];
}
#pragma omp end declare target

int main(void) {
  int sum = 0;
#pragma omp target parallel map(tofrom : sum) num_threads(4) reduction(+ : sum)
  sum += deep(20);
  CHECK(0, "210 KB of frames fitted a stack of 128 KB, the sum is %d", sum);
}
