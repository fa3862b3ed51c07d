/* The computation of device_arithmetic.c, the same for host and device; `seed` keeps the compiler from doing it. */
#include "device_arithmetic.h"

#include <math.h>
#include <stdint.h>

#pragma omp begin declare target
static void integers(long long *out, int seed) {
  int8_t b = (int8_t)(-100 - seed);
  uint8_t ub = (uint8_t)(250 + seed);
  int16_t s = (int16_t)(-32000 - 300 * seed);
  uint16_t us = (uint16_t)(65000 + 300 * seed);
  int32_t i = -123456789 * seed;
  uint32_t u = 4000000007u - (uint32_t)seed;
  int64_t l = -1234567890123456789LL + seed;
  uint64_t ul = 0xfedcba9876543210ULL - (uint64_t)seed;
  int n = 0;
  out[n++] = b;
  out[n++] = ub;
  out[n++] = s;
  out[n++] = us;
  out[n++] = b * ub;
  out[n++] = s / 7 + s % 7;
  out[n++] = i / 1000 + i % 1000;
  out[n++] = (long long)(u / 10 + u % 10);
  out[n++] = l / 10000019 + l % 10000019;
  out[n++] = (long long)(ul / 10000019 + ul % 10000019);
  out[n++] = i >> 5;
  out[n++] = (long long)(u >> 5);
  out[n++] = l >> 33;
  out[n++] = (long long)(ul >> 33);
  out[n++] = (long long)(ul << (seed + 20));
  out[n++] = (long long)(u << seed);
  out[n++] = (long long)i * i;
  out[n++] = (long long)((uint64_t)u * u);
  out[n++] = (long long)(((unsigned __int128)ul * ul) >> 64);
  out[n++] = (long long)(((__int128)l * l) >> 64);
  out[n++] = __builtin_popcount(u);
  out[n++] = __builtin_popcountll(ul);
  out[n++] = __builtin_clz(u >> 3);
  out[n++] = __builtin_clzll(ul >> 9);
  out[n++] = __builtin_ctz(u << 4);
  out[n++] = __builtin_ctzll(ul << 7);
  out[n++] = __builtin_bswap32(u);
  out[n++] = (long long)__builtin_bswap64(ul);
  out[n++] = (u << 7) | (u >> 25);
  out[n++] = (i ^ (int32_t)u) & ~(i | 0xff);
  out[n++] = i < (int32_t)u;
  out[n++] = (uint32_t)i < u;
  out[n++] = -i;
  out[n++] = l < 0 ? -l : l;
  out[n++] = (int8_t)l;
  out[n++] = (uint16_t)ul;
}

static void reals(double *out, int seed) {
  float f = 1.25f * (float)seed, g = -0.1f;
  double d = 1.1 * seed, e = -7.3;
  int n = 0;
  out[n++] = f + g;
  out[n++] = f * g;
  out[n++] = f / g;
  out[n++] = d + e;
  out[n++] = d * e;
  out[n++] = d / e;
  out[n++] = sqrt(d);
  out[n++] = sqrtf(f);
  out[n++] = fabs(e) + floor(e) + ceil(e) + trunc(e);
  out[n++] = rint(d * 3) + round(e);
  out[n++] = fma(d, e, f);
  out[n++] = fmin(d, e) + fmax(d, e);
  out[n++] = (float)d;
  out[n++] = (int)(d * 1000);
  out[n++] = (double)(long long)(e * 1e15);
  out[n++] = (double)(unsigned)(d * 1e9);
  out[n++] = (double)((unsigned long long)(d * 5e18));
  out[n++] = (double)(-seed * 1000003);
  out[n++] = (float)(seed * 1000003LL * 1000003LL);
  out[n++] = sin(d) + cos(e);
  out[n++] = exp(d) * log(d);
  out[n++] = pow(d, 2.5);
  out[n++] = atan2(d, e);
  out[n++] = tanh(d / 10);
  out[n++] = isnan(d - d) + 2 * isinf(d / (d - d));
  out[n++] = copysign(d, e);
  out[n++] = ldexp(d, 10);
  out[n++] = fmod(d * 100, 7);
  out[n++] = d > e && f != g;
}

void compute(struct results *r, int seed) {
  integers(r->integers, seed);
  reals(r->reals, seed);
}
#pragma omp end declare target
