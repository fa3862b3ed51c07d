// boomerang: checks: num_teams, thread_limit and num_threads are kept, also with more teams than the device runs at once
#include <omp.h>

#include "../check.h"

int main(void) {
  enum { TEAMS = 3000 };
  static char seen[TEAMS];
  int teams = 0, most = 0, twice = 0;
#pragma omp target teams distribute num_teams(TEAMS) map(tofrom : seen, teams, twice)
  for (int i = 0; i < TEAMS; i++) {
    if (seen[i]++)
      twice = 1;
    if (omp_get_team_num() == 0)
      teams = omp_get_num_teams();
  }
  CHECK(teams >= 1 && teams <= TEAMS, "%d teams ran of %d", teams, TEAMS);
  for (int i = 0; i < TEAMS; i++)
    CHECK(seen[i] == 1 && !twice, "iteration %d ran %d times", i, seen[i]);

#pragma omp target teams num_teams(3) thread_limit(4) map(tofrom : most)
#pragma omp parallel
#pragma omp critical
  if (omp_get_num_threads() > most)
    most = omp_get_num_threads();
  CHECK(most >= 1 && most <= 4, "a team of %d threads under a limit of 4", most);
  return 0;
}
