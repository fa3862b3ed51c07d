// boomerang: checks: regions that run at once have their own numbers of teams and threads, by threads of the host and by nowait
// boomerang: stock: dies: a region without teams has the number of teams of one before it
// boomerang: variants: BOOMERANG_PTX_OPT=0 | BOOMERANG_DEVICE_RUNTIME=stock
// boomerang: seeds: 6
#include <omp.h>

#include "../check.h"

enum { SIZES = 4, ROUNDS = 8, N = 300 };

struct seen {
  int teams, limit, threads, wrong;
};

/* Looks at its own numbers now and after a while, and shares out a loop among all of them. */
static void run(int teams, int threads, int sums[N], struct seen *seen) {
#pragma omp target teams num_teams(teams) thread_limit(threads) map(tofrom : sums[0 : N], seen[0 : 1])
  {
    int first = omp_get_num_teams();
#pragma omp parallel
    if (omp_get_team_num() == 0 && omp_get_thread_num() == 0) {
      seen->limit = omp_get_thread_limit();
      seen->threads = omp_get_num_threads();
    }
#pragma omp distribute parallel for
    for (int i = 0; i < N; i++) {
#pragma omp atomic
      sums[i]++;
    }
#pragma omp parallel num_threads(1)
    if (omp_get_num_teams() != first) {
#pragma omp atomic
      seen->wrong++;
    }
    if (omp_get_team_num() == 0)
      seen->teams = first;
  }
}

static void check(int teams, int threads) {
  static const struct seen none;
  int sums[N] = {0};
  struct seen seen = none;
  run(teams, threads, sums, &seen);
  CHECK(seen.wrong == 0, "the number of teams changed in %d of them", seen.wrong);
  CHECK(seen.teams == teams, "%d teams, not %d", seen.teams, teams);
  CHECK(seen.limit == threads && seen.threads == threads, "limit %d, %d threads, not %d", seen.limit, seen.threads,
        threads);
  for (int i = 0; i < N; i++)
    CHECK(sums[i] == 1, "iteration %d ran %d times", i, sums[i]);
}

int main(void) {
  int counts[SIZES * ROUNDS], plain[SIZES * ROUNDS];
  CHECK(omp_get_num_devices() > 0, "no device");
#pragma omp parallel num_threads(SIZES)
  for (int round = 0; round < ROUNDS; round++)
    check(1 + 3 * omp_get_thread_num(), 1 + omp_get_thread_num());

  for (int i = 0; i < SIZES * ROUNDS; i++) {
    int teams = 1 + 2 * (i % SIZES), threads = 1 + i % SIZES;
    counts[i] = 0;
#pragma omp target teams nowait num_teams(teams) thread_limit(threads) map(tofrom : counts[i])
#pragma omp parallel
    {
#pragma omp atomic
      counts[i] += omp_get_num_teams() + 100 * omp_get_num_threads();
    }
    /* Without teams. */
#pragma omp target nowait map(from : plain[i]) thread_limit(threads)
    plain[i] = omp_get_num_teams();
  }
#pragma omp taskwait
  for (int i = 0; i < SIZES * ROUNDS; i++) {
    int teams = 1 + 2 * (i % SIZES), threads = 1 + i % SIZES;
    int expected = teams * threads * (teams + 100 * threads);
    CHECK(counts[i] == expected, "%d teams of %d threads counted %d, not %d", teams, threads, counts[i], expected);
    CHECK(plain[i] == 1, "a region without teams has %d", plain[i]);
  }
  return 0;
}
