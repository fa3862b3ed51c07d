// boomerang: checks: C++ templates, lambdas with captures, references and overloads work in regions
#include "../check.h"

template <typename T, int N>
struct Polynomial {
  T coefficients[N];
  T operator()(T x) const {
    T value = 0;
    for (int i = N - 1; i >= 0; i--)
      value = value * x + coefficients[i];
    return value;
  }
};

template <typename F>
void fill(int *out, int n, F f) {
#pragma omp target teams distribute parallel for map(from : out[0 : n])
  for (int i = 0; i < n; i++)
    out[i] = f(i);
}

template <typename T>
T largest(const T *values, int n) {
  T best = values[0];
#pragma omp target teams distribute parallel for map(to : values[0 : n]) map(tofrom : best) reduction(max : best)
  for (int i = 0; i < n; i++)
    best = values[i] > best ? values[i] : best;
  return best;
}

int main() {
  int out[100], offset = 5, scale = 3;
  fill(out, 100, [offset, scale](int i) { return scale * i + offset; });
  for (int i = 0; i < 100; i++)
    CHECK(out[i] == 3 * i + 5, "out[%d] is %d", i, out[i]);

  Polynomial<double, 3> p = {{1, 2, 3}};
  double value = 0;
  int sum = 0;
#pragma omp target map(to : p) map(from : value) map(tofrom : sum)
  {
    value = p(2.0);
    auto add = [&sum](int x) { sum += x; };
    for (int i = 1; i <= 10; i++)
      add(i);
  }
  CHECK(value == 17, "p(2) is %g", value);
  CHECK(sum == 55, "the lambda added up to %d", sum);

  const double doubles[4] = {1.5, -2, 8.25, 3};
  const long longs[3] = {-7, -3, -5};
  CHECK(largest(doubles, 4) == 8.25, "largest double is %g", largest(doubles, 4));
  CHECK(largest(longs, 3) == -3, "largest long is %ld", largest(longs, 3));
  return 0;
}
