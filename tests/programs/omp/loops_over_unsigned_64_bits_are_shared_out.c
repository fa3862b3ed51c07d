// boomerang: checks: loops over unsigned 64-bit variables, up and down, past 2^63, give each iteration to one thread once, with guided and dynamic schedules
// boomerang: variants: BOOMERANG_PTX_OPT=0 | BOOMERANG_PTX_OPT=prune,direct | BOOMERANG_PTX_OPT=prune,direct,fences | BOOMERANG_PTX_OPT=prune,direct,heap,team
// boomerang: seeds: 20
/* As in for-6.c of the libgomp testsuite. Whole warps load what is left of a loop, and what they see decides where they go on.  */
#include <limits.h>

#include "../check.h"

enum { N = 1500, TEAMS = 32, ROUNDS = 4 };

#define BASE (LLONG_MAX - 27ULL)

static int a[N];
#pragma omp declare target(a)

#define LOOP(name, sharing, first, more, step)                                                                         \
  static void name(void) {                                                                                             \
    _Pragma(sharing) for (unsigned long long i = first; i more; i += step) a[(i - BASE - 1) / 3]++;                    \
  }

LOOP(guided_down, "omp target teams distribute parallel for num_teams(TEAMS) schedule(guided, 32)", BASE + 3 * N, > BASE, -3ULL)
LOOP(guided_up, "omp target teams distribute parallel for num_teams(TEAMS) schedule(guided, 32)", BASE + 1, < BASE + 1 + 3 * N, 3)
LOOP(dynamic_down, "omp target teams distribute parallel for num_teams(TEAMS) schedule(dynamic, 7)", BASE + 3 * N, > BASE, -3ULL)
LOOP(dynamic_up, "omp target teams distribute parallel for num_teams(TEAMS) schedule(dynamic, 7)", BASE + 1, < BASE + 1 + 3 * N, 3)
LOOP(guided_in_one_team, "omp target parallel for schedule(guided, 3)", BASE + 3 * N, > BASE, -3ULL)

int main(void) {
  void (*const loops[])(void) = {guided_down, guided_up, dynamic_down, dynamic_up, guided_in_one_team};
  int count = 0;
  for (int round = 0; round < ROUNDS; round++)
    for (unsigned i = 0; i < sizeof loops / sizeof *loops; i++) {
      loops[i]();
      count++;
#pragma omp target update from(a)
      for (int j = 0; j < N; j++)
        CHECK(a[j] == count, "round %d, loop %u: element %d was changed %d times, not %d", round, i, j, a[j], count);
    }
  return 0;
}
