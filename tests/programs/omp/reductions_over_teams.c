// boomerang: checks: reductions with every operator and over several types add up over teams and threads
// boomerang: device-flags: -latomic
#include <complex.h>
#include <limits.h>

#include "../check.h"

enum { N = 2000 };

int main(void) {
  long sum = 0;
  unsigned long long product = 1;
  int min = INT_MAX, max = INT_MIN;
  unsigned and_ = ~0u, or_ = 0, xor_ = 0;
  int all = 1, any = 0;
  short small = 0;
  float f = 0;
  double d = 0;
  double complex z = 0;

#pragma omp target teams distribute parallel for map(tofrom : sum, product, min, max, and_, or_, xor_, all, any, small) \
    reduction(+ : sum, small) reduction(* : product) reduction(min : min) reduction(max : max) reduction(& : and_)      \
    reduction(| : or_) reduction(^ : xor_) reduction(&& : all) reduction(|| : any)
  for (int i = 0; i < N; i++) {
    sum += i;
    product *= (unsigned long long)(2 * i + 1);
    if ((i * 37) % N - 1000 < min)
      min = (i * 37) % N - 1000;
    if ((i * 37) % N > max)
      max = (i * 37) % N;
    and_ &= ~(1u << (i % 7));
    or_ |= 1u << (i % 11);
    xor_ ^= (unsigned)i;
    all = all && i >= 0;
    any = any || i == 1234;
    small = (short)(small + 3);
  }

#pragma omp target teams distribute parallel for map(tofrom : f, d, z) reduction(+ : f, d, z)
  for (int i = 0; i < N; i++) {
    f += 0.5f;
    d += i * 0.25;
    z += i - i * I;
  }

  unsigned long long expected_product = 1;
  unsigned expected_xor = 0;
  for (int i = 0; i < N; i++) {
    expected_product *= (unsigned long long)(2 * i + 1);
    expected_xor ^= (unsigned)i;
  }
  CHECK(sum == (long)N * (N - 1) / 2, "+ over long: %ld", sum);
  CHECK(product == expected_product, "* over unsigned long long: %llu", product);
  CHECK(min == -1000, "min: %d", min);
  CHECK(max == N - 1, "max: %d", max);
  CHECK(and_ == (~0u & ~0x7fu), "&: %x", and_);
  CHECK(or_ == 0x7ff, "|: %x", or_);
  CHECK(xor_ == expected_xor, "^: %x", xor_);
  CHECK(all == 1 && any == 1, "&&: %d, ||: %d", all, any);
  CHECK(small == 3 * N, "+ over short: %d", small);
  CHECK(f == 0.5f * N, "+ over float: %g", f);
  CHECK(d == 0.25 * N * (N - 1) / 2, "+ over double: %g", d);
  CHECK(creal(z) == N * (N - 1) / 2 && cimag(z) == -N * (N - 1) / 2, "+ over complex: %g %g", creal(z), cimag(z));
  return 0;
}
