// boomerang: checks: the device calls `declare target indirect` functions through pointers taken on the host
// boomerang: gcc: 14
// boomerang: stock: dies: where two functions collide in the hash table that it makes for GCC 16, it keeps one of them
#include "../check.h"

typedef int operation(int);

#pragma omp begin declare target indirect
int twice(int x) { return 2 * x; }
int square(int x) { return x * x; }
int negate(int x) { return -x; }
#pragma omp end declare target

int main(void) {
  operation *functions[3] = {twice, square, negate};
  int results[3] = {0};
#pragma omp target map(to : functions) map(from : results)
  for (int i = 0; i < 3; i++)
    results[i] = functions[i](9);
  CHECK(results[0] == 18 && results[1] == 81 && results[2] == -9, "results: %d %d %d", results[0], results[1],
        results[2]);

  int sum = 0;
  operation *f = square;
#pragma omp target teams distribute parallel for map(tofrom : sum) reduction(+ : sum) firstprivate(f)
  for (int i = 0; i < 100; i++)
    sum += f(i);
  CHECK(sum == 328350, "sum of squares is %d", sum);
  return 0;
}
