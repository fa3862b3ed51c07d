// boomerang: checks: 128-bit and narrow integers, complex numbers, vectors, bit fields and all conversions give on the device what they give on the host
// boomerang: flags: -lm -Wno-psabi
// boomerang: device-flags: -lm
#include <complex.h>
#include <math.h>
#include <string.h>
#include "../check.h"

typedef int v4si __attribute__ ((vector_size (16)));
typedef float v4sf __attribute__ ((vector_size (16)));
typedef double v2df __attribute__ ((vector_size (16)));

struct bits {
  unsigned a : 3;
  int b : 7;
  unsigned long long c : 45;
};

struct results {
  __int128 wide[12];
  long long integers[64];
  double reals[32];
  double complex z[8];
  float complex c[4];
  v4si vi;
  v4sf vf;
  v2df vd;
  struct bits bits;
};

#pragma omp begin declare target
/* The seed keeps all from being folded into constants. */
static __attribute__ ((noipa)) void
compute (struct results *r, long long seed)
{
  __int128 w = ((__int128) seed << 70) + 12345678901234567LL * seed;
  unsigned __int128 u = (unsigned __int128) w;
  r->wide[0] = w * 1234567;
  r->wide[1] = w / 987654321;
  r->wide[2] = w % 987654321;
  r->wide[3] = -w >> 33;
  r->wide[4] = u / ((unsigned __int128) seed << 40);
  r->wide[5] = u % ((unsigned __int128) seed << 40);
  r->wide[6] = w << (seed & 63);
  r->wide[7] = w - 3 * r->wide[3];
  r->wide[8] = (__int128) (1e25 * seed);
  r->wide[9] = (unsigned __int128) (3e10f * seed);
  r->wide[10] = ~w ^ r->wide[0];
  r->wide[11] = w < r->wide[0] ? w : r->wide[0];

  int i = 0;
  signed char s8 = 100 + seed;
  unsigned char u8 = 200 + seed;
  short s16 = 32000 + seed * 100;
  unsigned short u16 = 65000 + seed * 100;
  int s32 = 0x7fffff00 + (unsigned) seed;
  unsigned u32 = 0xffffff00u + seed;
  long long s64 = 0x7ffffffffffff000LL + seed;
  unsigned long long u64 = -1ULL - seed;
  s8 += u8;
  u8 *= s8;
  s16 = s16 * u16;
  u16 >>= s8 & 7;
  r->integers[i++] = s8;
  r->integers[i++] = u8;
  r->integers[i++] = s16;
  r->integers[i++] = u16;
  r->integers[i++] = s8 / 7 + u8 % 9;
  r->integers[i++] = s16 >> 3;
  r->integers[i++] = (s8 << 4) ^ (u16 & s16);
  r->integers[i++] = __builtin_popcountll (u64) + __builtin_clz (u32) + __builtin_ctzll (s64) + __builtin_ffs (s32);
  r->integers[i++] = __builtin_parity (u32) + __builtin_clrsb (s32);
  r->integers[i++] = __builtin_bswap32 (u32) ^ __builtin_bswap64 (u64) ^ __builtin_bswap16 (u16);
  r->integers[i++] = __builtin_add_overflow (s32, 1 << 20, &s32);
  r->integers[i++] = __builtin_mul_overflow (u64, 3ULL, &u64);
  r->integers[i++] = (u32 << (seed & 31)) | (u32 >> (32 - (seed & 31)));
  r->integers[i++] = ((unsigned __int128) u64 * (unsigned long long) s64) >> 64;
  r->integers[i++] = s64 / (s32 | 1) + s64 % (s16 | 1);
  r->integers[i++] = u64 / (u16 | 1) + u64 % (u8 | 1);

  double reals[] = { -1.5, 2.5, 1e-310, 123456.789, -7e9, 1e18 };
  for (int n = 0; n < 6; n++)
    {
      double x = reals[n] * seed;
      float f = x;
      r->reals[n] = f;
      /* A product here could be fused with the difference. */
      r->reals[n + 6] = f / 3.1f - (float) seed / 7;
      r->reals[n + 12] = fma (x, 1e-3, seed);
      if (fabs (x) < 1e18)
        r->integers[i++] = (long long) x;
      if (fabs (x) < 1e9)
        r->integers[i++] = (int) x + (short) (int) x + (signed char) (int) x + (int) f;
      if (x >= 0 && x < 1.8e19)
        r->integers[i++] = (unsigned long long) x;
    }
  r->reals[18] = s8;
  r->reals[19] = u16;
  r->reals[20] = s32;
  r->reals[21] = u32;
  r->reals[22] = s64;
  r->reals[23] = u64;
  r->reals[24] = (float) s64;
  r->reals[25] = (float) u64;
  r->reals[26] = (float) u32;
  r->reals[27] = (double) w;
  r->reals[28] = (float) u;
  r->reals[29] = (long double) seed / 3;

  double complex z = seed + 2.5 * I, y = -1.25 + seed * I;
  r->z[0] = z * y;
  r->z[1] = z / y;
  r->z[2] = conj (z) + 1;
  r->z[3] = creal (z) * y - cimag (y);
  r->z[4] = csqrt (z);
  r->z[5] = cexp (y / 16);
  r->z[6] = z == y ? z : -y;
  float complex c = seed - 0.5f * I;
  r->c[0] = c * c;
  r->c[1] = c / (1 + c);
  r->c[2] = ~c;

  v4si vi = { s8, u8, s16, (int) seed };
  r->vi = vi * (v4si) { 3, 5, 7, 9 } - (vi >> 1);
  /* Fused or not, all of this is exact. */
  v4sf vf = { seed, 0.5f, -2, 1024 };
  r->vf = vf * vf + (v4sf) { 1, 2, 3, 4 };
  v2df vd = { seed, 1.0 / 3 };
  r->vd = vd / (v2df) { 3, 7 };
  r->bits = (struct bits) { 5, -33, 0x123456789abULL };
  r->bits.a += seed;
  r->bits.b -= seed;
  r->bits.c *= 3;
}
#pragma omp end declare target

static int
near (double a, double b)
{
  return a == b || fabs (a - b) <= 4 * fabs (b) * 0x1p-52;
}

/* One part of a product may be the difference of products that nearly cancel, and one of those may be fused with the difference:
   each part is as exact as the whole number is large. */
static int
near_complex (double complex a, double complex b)
{
  return a == b || cabs (a - b) <= 4 * cabs (b) * 0x1p-52;
}

int
main (void)
{
  for (int seed = 1; seed < 40; seed += 3)
    {
      struct results device, host;
      memset (&device, 0, sizeof device);
      memset (&host, 0, sizeof host);
      #pragma omp target map(tofrom: device)
      compute (&device, seed);
      compute (&host, seed);
      for (int n = 0; n < 12; n++)
        CHECK (device.wide[n] == host.wide[n], "wide %d for %d", n, seed);
      for (int n = 0; n < 64; n++)
        CHECK (device.integers[n] == host.integers[n], "integer %d for %d: %lld, not %lld", n, seed, device.integers[n],
               host.integers[n]);
      for (int n = 0; n < 32; n++)
        CHECK (near (device.reals[n], host.reals[n]), "real %d for %d: %.17g, not %.17g", n, seed, device.reals[n], host.reals[n]);
      for (int n = 0; n < 8; n++)
        CHECK (near_complex (device.z[n], host.z[n]), "complex %d for %d: %.17g %.17g, not %.17g %.17g", n, seed, creal (device.z[n]), cimag (device.z[n]),
               creal (host.z[n]), cimag (host.z[n]));
      for (int n = 0; n < 4; n++)
        CHECK (cabsf (device.c[n] - host.c[n]) <= 4 * cabsf (host.c[n]) * 0x1p-23f, "float complex %d for %d", n, seed);
      CHECK (memcmp (&device.vi, &host.vi, sizeof host.vi) == 0 && memcmp (&device.vf, &host.vf, sizeof host.vf) == 0
             && memcmp (&device.vd, &host.vd, sizeof host.vd) == 0, "vectors for %d", seed);
      CHECK (device.bits.a == host.bits.a && device.bits.b == host.bits.b && device.bits.c == host.bits.c, "bit fields for %d", seed);
    }
  return 0;
}
