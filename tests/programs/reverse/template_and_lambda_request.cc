// boomerang: checks: requests made in C++ templates and lambdas reach the host with the right types and captures
// boomerang: sources: template_and_lambda_request_host.cc
// boomerang: variants: BOOMERANG_DEVICE_RUNTIME=stock
#include "../check.h"

#pragma omp requires reverse_offload

void twice(int &x);
void twice(double &x);
void twice(long long &x);

#pragma omp begin declare target
template <typename T>
T ask(T x) {
#pragma omp target device(ancestor : 1) map(always, tofrom : x)
  twice(x);
  return x;
}
#pragma omp end declare target

int main() {
  int i = 0;
  double d = 0;
  long long l = 0;
#pragma omp target map(from : i, d, l)
  {
    int base = 4;
    auto ask_sum = [base](int x) {
      int sum = base + x;
#pragma omp target device(ancestor : 1) map(always, tofrom : sum)
      twice(sum);
      return sum;
    };
    i = ask_sum(ask(3));
    d = ask(1.25);
    l = ask(1LL << 40);
  }
  CHECK(i == 2 * (4 + 6), "int: %d", i);
  CHECK(d == 2.5, "double: %g", d);
  CHECK(l == 1LL << 41, "long long: %lld", l);
  return 0;
}
