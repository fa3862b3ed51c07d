// boomerang: checks: loops, single, sections and tasks that come right after each other get each thread its share, in any order of warps
// boomerang: variants: BOOMERANG_PTX_OPT=team | BOOMERANG_PTX_OPT=0
// boomerang: seeds: 40
/* What threads of a team look at without a lock: the next work share, the free ones, what is left of a loop, whether tasks are left.  */
#include <omp.h>

#include "../check.h"

enum { TEAMS = 4, THREADS = 8, ROUNDS = 60, N = 40 };

static int loops[TEAMS], singles[TEAMS], sections[TEAMS], tasks[TEAMS];

int main(void) {
#pragma omp target teams distribute num_teams(TEAMS) thread_limit(THREADS) map(tofrom : loops, singles, sections)
  for (int team = 0; team < TEAMS; team++)
#pragma omp parallel num_threads(THREADS)
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp for schedule(guided, 2) nowait
      for (int i = 0; i < N; i++)
#pragma omp atomic
        loops[team]++;
#pragma omp for schedule(dynamic, 3) nowait
      for (int i = 0; i < N; i++)
#pragma omp atomic
        loops[team]++;
#pragma omp single nowait
#pragma omp atomic
      singles[team]++;
#pragma omp sections nowait
      {
#pragma omp section
#pragma omp atomic
        sections[team]++;
#pragma omp section
#pragma omp atomic
        sections[team]++;
      }
    }
#pragma omp target teams distribute num_teams(TEAMS) thread_limit(THREADS) map(tofrom : tasks)
  for (int team = 0; team < TEAMS; team++)
#pragma omp parallel num_threads(THREADS)
    for (int round = 0; round < ROUNDS; round++) {
      /* One thread waits sooner or later for a task that another, in the barrier, may have taken.  */
      if (omp_get_thread_num() == round % THREADS) {
#pragma omp task
#pragma omp atomic
        tasks[team]++;
        for (volatile int i = 0; i < round; i++)
          ;
#pragma omp taskwait
      }
#pragma omp barrier
    }
  for (int team = 0; team < TEAMS; team++) {
    CHECK(loops[team] == ROUNDS * 2 * N, "team %d: %d iterations, not %d", team, loops[team], ROUNDS * 2 * N);
    CHECK(singles[team] == ROUNDS, "team %d: %d single blocks, not %d", team, singles[team], ROUNDS);
    CHECK(sections[team] == 2 * ROUNDS, "team %d: %d sections, not %d", team, sections[team], 2 * ROUNDS);
    CHECK(tasks[team] == ROUNDS, "team %d: %d tasks, not %d", team, tasks[team], ROUNDS);
  }
  return 0;
}
