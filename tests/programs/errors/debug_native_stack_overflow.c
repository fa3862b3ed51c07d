// boomerang: checks: calls too deep for the native stack are reported, with what it holds
// boomerang: flags: -g
// boomerang: on: sim
// boomerang: exit: failure
// boomerang: stderr: stack overflow$
// boomerang: stderr: ^  called from [^ ]*debug_native_stack_overflow\.c:14 in deep .*, [0-9]+ times$
// boomerang: stderr: ^  the call of deep needs [0-9]+ bytes of stack, a thread has 1024$
#include "../check.h"

#pragma omp begin declare target
__attribute__((noinline)) static int deep(volatile int *n) {
  if (--*n < 0)
    return 0;
  int below = deep(n);
  return below + *n + deep(n);
}
#pragma omp end declare target

int main(void) {
  int n = 1000;
#pragma omp target map(tofrom : n)
  n = deep(&n);
  CHECK(0, "1000 calls fitted a stack of 1024 bytes, the result is %d", n);
}
