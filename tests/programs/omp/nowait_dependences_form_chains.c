// boomerang: checks: chains of regions, copies and host tasks with nowait and depend run in order, inside parallel and outside
// boomerang: variants: BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll
#include <omp.h>

#include "../check.h"

enum { LINKS = 12, CHAINS = 6 };

/* v = 2 * v + 1 on the device and v = 3 * v + 1 on the host in turns, with the data entered, updated and left by tasks too. */
static void chain(long *v) {
#pragma omp target enter data map(to : v[0 : 1]) depend(inout : v[0]) nowait
  for (int i = 0; i < LINKS; i++) {
#pragma omp target map(to : v[0 : 1]) depend(inout : v[0]) nowait
    v[0] = 2 * v[0] + 1;
#pragma omp target update from(v[0 : 1]) depend(inout : v[0]) nowait
#pragma omp task depend(inout : v[0])
    v[0] = 3 * v[0] + 1;
#pragma omp target update to(v[0 : 1]) depend(inout : v[0]) nowait
  }
#pragma omp target exit data map(from : v[0 : 1]) depend(inout : v[0]) nowait
}

static long expected(long v) {
  for (int i = 0; i < LINKS; i++)
    v = 3 * (2 * v + 1) + 1;
  return v;
}

int main(void) {
  long a[CHAINS], b[CHAINS], sum = 0;
  CHECK(omp_get_num_devices() > 0, "no device");
  for (int i = 0; i < CHAINS; i++)
    a[i] = b[i] = i;

#pragma omp parallel num_threads(3)
  {
#pragma omp for
    for (int i = 0; i < CHAINS; i++)
      chain(&b[i]);
    /* The loop's barrier waits for the tasks. */
#pragma omp single
    for (int i = 0; i < CHAINS; i++)
      sum += b[i];
  }

  /* Not before a parallel region: for these libgomp (14 to 16) makes a team outside of any, and then frees the region's team while its
     threads still use it (gomp_team_end looks at the level in one place and at the team in another). */
  for (int i = 0; i < CHAINS; i++)
    chain(&a[i]);
#pragma omp taskwait

  /* Many readers between two writers. */
  int x = 1, seen[CHAINS] = {0};
#pragma omp taskgroup
  {
#pragma omp target map(tofrom : x) depend(out : x) nowait
    x = 7;
    for (int i = 0; i < CHAINS; i++) {
#pragma omp target map(to : x) map(from : seen[i]) firstprivate(i) depend(in : x) nowait
      seen[i] = x + i;
    }
#pragma omp target map(tofrom : x) depend(out : x) nowait
    x = 8;
  }
  CHECK(x == 8, "x is %d", x);

  for (int i = 0; i < CHAINS; i++) {
    CHECK(a[i] == expected(i), "outside parallel, chain %d gave %ld", i, a[i]);
    CHECK(b[i] == expected(i), "inside parallel, chain %d gave %ld", i, b[i]);
    CHECK(seen[i] == 7 + i, "reader %d saw %d", i, seen[i]);
    sum -= expected(i);
  }
  CHECK(sum == 0, "at the barrier some chain had not ended");
  return 0;
}
