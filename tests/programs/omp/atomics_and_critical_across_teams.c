// boomerang: checks: atomics of several types and critical sections are atomic across teams and threads
#include "../check.h"

enum { N = 4000 };

int main(void) {
  int count = 0, captured[N], max = 0, in_critical = 0;
  long long wide = 0;
  float f = 0;
  double d = 0;
  unsigned bits = 0;
  for (int i = 0; i < N; i++)
    captured[i] = 0;
#pragma omp target teams distribute parallel for num_teams(16) thread_limit(8) \
    map(tofrom : count, captured, max, in_critical, wide, f, d, bits)
  for (int i = 0; i < N; i++) {
    int ticket;
#pragma omp atomic capture
    ticket = count++;
#pragma omp atomic
    captured[ticket]++;
#pragma omp atomic
    wide += 1LL << 33;
#pragma omp atomic
    f += 1.0f;
#pragma omp atomic
    d += 0.5;
#pragma omp atomic
    bits |= 1u << (i % 32);
#pragma omp critical
    {
      in_critical++;
      if (ticket > max)
        max = ticket;
    }
  }
  CHECK(count == N, "%d tickets were taken", count);
  for (int i = 0; i < N; i++)
    CHECK(captured[i] == 1, "ticket %d was given out %d times", i, captured[i]);
  CHECK(wide == (1LL << 33) * N, "long long: %lld", wide);
  CHECK(f == N && d == 0.5 * N, "float: %g, double: %g", f, d);
  CHECK(bits == ~0u, "bits: %x", bits);
  CHECK(in_critical == N && max == N - 1, "critical: count %d, max %d", in_critical, max);
  return 0;
}
