// boomerang: checks: every team of a program's first region finds `declare target indirect` functions, also those that begin before the first team
// boomerang: gcc: 14
// boomerang: stock: dies: up to GCC 15 the first team makes the table, and others don't wait for it; for GCC 16 its table keeps one of two functions that collide
// boomerang: variants: BOOMERANG_SIM_SEED=1 | BOOMERANG_SIM_SEED=2 | BOOMERANG_SIM_SEED=3 | BOOMERANG_SIM_SEED=4 | BOOMERANG_PTX_OPT=0 | BOOMERANG_PTX_OPT=0 BOOMERANG_SIM_SEED=1
#include "../check.h"

enum { TEAMS = 64, FUNCTIONS = 3 };

typedef int operation(int);

#pragma omp begin declare target indirect
int twice(int x) { return 2 * x; }
int square(int x) { return x * x; }
int negate(int x) { return -x; }
#pragma omp end declare target

int main(void) {
  operation *functions[FUNCTIONS] = {twice, square, negate};
  int results[TEAMS] = {0};
#pragma omp target teams distribute num_teams(TEAMS) thread_limit(1) map(to : functions) map(from : results)
  for (int i = 0; i < TEAMS; i++)
    results[i] = functions[i % FUNCTIONS](i);
  for (int i = 0; i < TEAMS; i++)
    CHECK(results[i] == functions[i % FUNCTIONS](i), "team %d has %d", i, results[i]);
  return 0;
}
