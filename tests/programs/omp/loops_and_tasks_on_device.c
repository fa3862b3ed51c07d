// boomerang: checks: worksharing of every schedule, sections, single, ordered and tasks work on the device
// boomerang: device-flags: -latomic
#include <omp.h>

#include "../check.h"

int main(void) {
  enum { N = 97 };
  int hits[4][N], order[N], sections = 0, singles = 0, tasks = 0, position = 0;
  for (int i = 0; i < N; i++)
    hits[0][i] = hits[1][i] = hits[2][i] = hits[3][i] = order[i] = 0;
#pragma omp target map(tofrom : hits, order, sections, singles, tasks, position)
#pragma omp parallel num_threads(6)
  {
#pragma omp for schedule(static, 5)
    for (int i = 0; i < N; i++)
      hits[0][i]++;
#pragma omp for schedule(dynamic, 3)
    for (int i = 0; i < N; i++)
      hits[1][i]++;
#pragma omp for schedule(guided)
    for (int i = 0; i < N; i++)
      hits[2][i]++;
#pragma omp for collapse(2) schedule(static)
    for (int i = 0; i < 1; i++)
      for (int j = 0; j < N; j++)
        hits[3][j]++;
#pragma omp for ordered schedule(static, 1)
    for (int i = 0; i < N; i++) {
#pragma omp ordered
      order[position++] = i;
    }
#pragma omp sections reduction(+ : sections)
    {
#pragma omp section
      sections += 1;
#pragma omp section
      sections += 10;
    }
#pragma omp single
    {
      singles++;
      for (int i = 0; i < 20; i++) {
#pragma omp task
        {
#pragma omp atomic
          tasks++;
        }
      }
    }
  }
  for (int i = 0; i < N; i++) {
    for (int s = 0; s < 4; s++)
      CHECK(hits[s][i] == 1, "schedule %d ran iteration %d %d times", s, i, hits[s][i]);
    CHECK(order[i] == i, "iteration %d came at place %d", order[i], i);
  }
  CHECK(sections == 11 && singles == 1 && tasks == 20, "sections %d, singles %d, tasks %d", sections, singles, tasks);
  return 0;
}
