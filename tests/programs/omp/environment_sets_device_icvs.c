// boomerang: checks: the _DEV environment variables of OpenMP reach the device
// boomerang: gcc: 14
// boomerang: env: OMP_NUM_TEAMS_DEV=5 OMP_TEAMS_THREAD_LIMIT_DEV=6 OMP_NUM_TEAMS=3
#include <omp.h>

#include "../check.h"

int main(void) {
  int most_teams = 0, limit = 0, teams = 0;
#pragma omp target map(from : most_teams, limit)
  {
    most_teams = omp_get_max_teams();
    limit = omp_get_teams_thread_limit();
  }
#pragma omp target teams map(tofrom : teams)
  {
#pragma omp parallel num_threads(1)
#pragma omp atomic
    teams++;
  }
  CHECK(most_teams == 5, "omp_get_max_teams() is %d on the device", most_teams);
  CHECK(limit == 6, "omp_get_teams_thread_limit() is %d on the device", limit);
  CHECK(teams == 5, "%d teams ran", teams);
  return 0;
}
