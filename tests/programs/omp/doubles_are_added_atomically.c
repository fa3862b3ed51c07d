// boomerang: checks: atomic updates of doubles and floats, and what they capture, are exact over teams, threads and lanes
// boomerang: variants: BOOMERANG_PTX_OPT=atomics | BOOMERANG_SIM_SEED=1 | BOOMERANG_SIM_SEED=2
#include "../check.h"

enum { N = 600 };

int main(void) {
  double sum = 0.5, shared[4] = {0}, factor = 1, captured = 0, lanes = 0, constant = 0, differences = 0;
  float single = 0;
  static unsigned char seen[N];
#pragma omp target teams distribute parallel for num_teams(5) map(tofrom : sum, shared, factor, captured, seen, constant, differences, single)
  for (int i = 0; i < N; i++) {
#pragma omp atomic
    sum += i;
#pragma omp atomic
    shared[i % 4] += 0.25;
#pragma omp atomic
    constant += 1;
#pragma omp atomic
    differences -= 2;
#pragma omp atomic
    single += 1;
    if (i % 100 == 0)
#pragma omp atomic
      factor *= 2;
    double before;
#pragma omp atomic capture
    { before = captured; captured += 1; }
    seen[(int)before]++;
  }
#pragma omp target teams distribute parallel for simd num_teams(3) map(tofrom : lanes)
  for (int i = 0; i < N; i++)
#pragma omp atomic
    lanes += i;
  CHECK(sum == 0.5 + N * (N - 1) / 2, "%g", sum);
  CHECK(lanes == N * (N - 1) / 2, "%g", lanes);
  CHECK(constant == N && differences == -2 * N && single == N, "%g %g %g", constant, differences, (double)single);
  for (int i = 0; i < 4; i++)
    CHECK(shared[i] == N / 16., "%d: %g", i, shared[i]);
  CHECK(factor == 64, "%g", factor);
  CHECK(captured == N, "%g", captured);
  for (int i = 0; i < N; i++)
    CHECK(seen[i] == 1, "%d: seen %d times", i, seen[i]);
  double dot = 0;
#pragma omp target teams distribute parallel for simd reduction(+ : dot) map(tofrom : dot)
  for (int i = 0; i < N; i++)
    dot += i;
  CHECK(dot == N * (N - 1) / 2, "%g", dot);
  return 0;
}
