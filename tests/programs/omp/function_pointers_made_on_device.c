// boomerang: checks: function pointers made on the device are called through tables and arguments
#include "../check.h"

typedef int operation(int, int);

#pragma omp begin declare target
static int add(int a, int b) { return a + b; }
static int subtract(int a, int b) { return a - b; }
static int multiply(int a, int b) { return a * b; }
static __attribute__((noinline)) int apply(operation *f, int a, int b) { return f(a, b); }
#pragma omp end declare target

int main(void) {
  int results[3] = {0}, which = 1;
#pragma omp target map(from : results) firstprivate(which)
  {
    operation *volatile table[3] = {add, subtract, multiply};
    results[0] = table[0](6, 7);
    results[1] = apply(table[which], 6, 7);
    results[2] = apply(which ? multiply : add, 6, 7);
  }
  CHECK(results[0] == 13 && results[1] == -1 && results[2] == 42, "results: %d %d %d", results[0], results[1],
        results[2]);
  return 0;
}
