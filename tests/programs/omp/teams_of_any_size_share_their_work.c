// boomerang: checks: teams of 1 to 32 threads, of which one after the other some take part in parallel regions, do each iteration once
// boomerang: env: GOMP_DEBUG=1
// boomerang: variants: BOOMERANG_PTX_OPT=0 | BOOMERANG_PTX_OPT=team
// boomerang: seeds: 20
#include <omp.h>

#include "../check.h"

enum { TEAMS = 5, MOST = 32 };

static int times[TEAMS][MOST + 1][MOST];

int main(void) {
  for (int size = 1; size <= MOST; size += size < 10 ? 1 : 11) {
    int sizes[TEAMS][MOST + 1] = {0}, teams = 0;
    for (int i = 0; i < TEAMS * (MOST + 1) * MOST; i++)
      (&times[0][0][0])[i] = 0;
#pragma omp target teams num_teams(TEAMS) thread_limit(size) map(tofrom : times, sizes, teams)
    {
      int team = omp_get_team_num();
      if (team == 0)
        teams = omp_get_num_teams();
      for (int threads = size; threads > 0; threads -= 1 + threads / 3) {
#pragma omp parallel num_threads(threads)
        {
          int me = omp_get_thread_num();
#pragma omp single
          sizes[team][threads] = omp_get_num_threads();
#pragma omp for schedule(dynamic)
          for (int i = 0; i < MOST; i++)
            times[team][threads][i] += 1;
          times[team][threads][(me + 1) % omp_get_num_threads()] += 1;
        }
      }
    }
    for (int threads = size; threads > 0; threads -= 1 + threads / 3)
      for (int team = 0; team < teams; team++) {
        /* As many as there are, where code takes so many registers that not all find room.  */
        int given = sizes[team][threads];
        CHECK(given > 0 && given <= threads, "%d threads of team %d, not %d", given, team, threads);
        for (int i = 0; i < MOST; i++)
          CHECK(times[team][threads][i] == 1 + (i < given), "%d of %d threads: iteration %d of team %d ran %d times", given, size, i, team,
                times[team][threads][i]);
      }
    CHECK(teams > 0 && teams <= TEAMS, "%d teams", teams);
  }
  return 0;
}
