// boomerang: checks: of 64 teams with 50 requests each, every request is served exactly once and each team gets its own replies
// boomerang: sources: every_team_request_counts_once_host.c
// boomerang: variants: BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll | BOOMERANG_DEVICE_RUNTIME=stock | BOOMERANG_DEVICE_RUNTIME=stock BOOMERANG_WAIT=block | GOMP_REVERSE_OFFLOAD_THREADS=1 | GOMP_REVERSE_OFFLOAD_THREADS=4 | GOMP_REVERSE_OFFLOAD_THREADS=4 BOOMERANG_WAIT=block
#include <omp.h>

#include "../check.h"

#pragma omp requires reverse_offload

enum { TEAMS = 64, REQUESTS = 50 };

void serve(int team, int request, int *reply);
int served(int team, int request);

int main(void) {
  int wrong[TEAMS], teams = 0;
  for (int t = 0; t < TEAMS; t++)
    wrong[t] = -1;

#pragma omp target teams distribute num_teams(TEAMS) thread_limit(1) map(from : teams) map(tofrom : wrong)
  for (int t = 0; t < TEAMS; t++) {
    int team = omp_get_team_num(), errors = 0;
    if (team == 0)
      teams = omp_get_num_teams();
    for (int i = 0; i < REQUESTS; i++) {
      int reply = -1;
#pragma omp target device(ancestor : 1) firstprivate(team, i) map(always, tofrom : reply)
      serve(team, i, &reply);
      if (reply != team * REQUESTS + i)
        errors++;
    }
    wrong[team] = errors;
  }

  CHECK(teams == TEAMS, "%d teams ran", teams);
  for (int t = 0; t < TEAMS; t++) {
    CHECK(wrong[t] == 0, "team %d got %d wrong replies", t, wrong[t]);
    for (int i = 0; i < REQUESTS; i++)
      CHECK(served(t, i) == 1, "request %d of team %d was served %d times", i, t, served(t, i));
  }
  return 0;
}
