// boomerang: checks: the functions of the mathematical library give on the device what they give on the host, to a few units in the last place
// boomerang: flags: -lm
// boomerang: device-flags: -lm
#include <math.h>
#include "../check.h"

/* Functions of one, or of two arguments, of which the second is ignored by the former. */
#define FUNCTIONS(F) \
  F (sin (x)) F (cos (x)) F (tan (x)) F (asin (x / 40)) F (acos (x / 40)) F (atan (x)) F (atan2 (x, y)) \
  F (sinh (x / 4)) F (cosh (x / 4)) F (tanh (x)) F (asinh (x)) F (acosh (1 + fabs (x))) F (atanh (x / 40)) \
  F (exp (x)) F (exp2 (x)) F (expm1 (x / 8)) F (log (fabs (x))) F (log10 (fabs (x))) F (log1p (fabs (x))) F (log2 (fabs (x))) \
  F (logb (x)) F (pow (fabs (x), y)) F (sqrt (fabs (x))) F (cbrt (x)) F (hypot (x, y)) F (erf (x / 8)) F (erfc (x / 8)) \
  F (floor (x)) F (ceil (x)) F (trunc (x)) F (round (x)) F (rint (x)) F (nearbyint (x)) F (lrint (x)) F (llround (x)) \
  F (fmod (x, y)) F (remainder (x, y)) F (fdim (x, y)) F (fmax (x, y)) F (fmin (x, y)) F (fma (x, y, x)) F (copysign (x, y)) \
  F (nextafter (x, y)) F (ldexp (x, 5)) F (scalbn (x, -3)) F (ilogb (x)) F (frexp (x, &(int) { 0 })) F (modf (x, &(double) { 0 })) \
  F (isnan (x)) F (isfinite (x)) F (signbit (x) != 0) F (fabs (x))

#define FUNCTIONS_F(F) \
  F (sinf (x)) F (cosf (x)) F (tanf (x)) F (asinf (x / 40)) F (acosf (x / 40)) F (atanf (x)) F (atan2f (x, y)) \
  F (sinhf (x / 4)) F (coshf (x / 4)) F (tanhf (x)) F (expf (x)) F (exp2f (x)) F (expm1f (x / 8)) F (logf (fabsf (x))) \
  F (log10f (fabsf (x))) F (log1pf (fabsf (x))) F (log2f (fabsf (x))) F (powf (fabsf (x), y)) F (sqrtf (fabsf (x))) F (cbrtf (x)) \
  F (hypotf (x, y)) F (erff (x / 8)) F (erfcf (x / 8)) F (floorf (x)) F (ceilf (x)) F (truncf (x)) F (roundf (x)) F (rintf (x)) \
  F (lrintf (x)) F (fmodf (x, y)) F (remainderf (x, y)) F (fdimf (x, y)) F (fmaxf (x, y)) F (fminf (x, y)) F (fmaf (x, y, x)) \
  F (copysignf (x, y)) F (nextafterf (x, y)) F (ldexpf (x, 5)) F (ilogbf (x))

#define COUNT(call) +1
#define NAME(call) #call,
#define CASE(call) case __COUNTER__ - FIRST - 1: return call;

static const char *const names[] = { FUNCTIONS (NAME) };
static const char *const names_f[] = { FUNCTIONS_F (NAME) };
enum { DOUBLES = 0 FUNCTIONS (COUNT), FLOATS = 0 FUNCTIONS_F (COUNT), ARGUMENTS = 64 };

#pragma omp begin declare target
static double
call (int function, double x, double y)
{
  enum { FIRST = __COUNTER__ };
  switch (function)
    {
    FUNCTIONS (CASE)
    }
  return 0;
}

static float
call_f (int function, float x, float y)
{
  enum { FIRST = __COUNTER__ };
  switch (function)
    {
    FUNCTIONS_F (CASE)
    }
  return 0;
}

static double
argument (int n)
{
  return (n - 31.5) * 0.8125 + n * 1e-3;
}
#pragma omp end declare target

static double d[DOUBLES][ARGUMENTS];
static float f[FLOATS][ARGUMENTS];

int
main (void)
{
  #pragma omp target teams distribute parallel for collapse(2) map(from: d)
  for (int function = 0; function < DOUBLES; function++)
    for (int n = 0; n < ARGUMENTS; n++)
      d[function][n] = call (function, argument (n), argument (n * 7 % ARGUMENTS));
  #pragma omp target teams distribute parallel for collapse(2) map(from: f)
  for (int function = 0; function < FLOATS; function++)
    for (int n = 0; n < ARGUMENTS; n++)
      f[function][n] = call_f (function, argument (n), argument (n * 7 % ARGUMENTS));

  for (int n = 0; n < ARGUMENTS; n++)
    {
      double x = argument (n), y = argument (n * 7 % ARGUMENTS);
      for (int function = 0; function < DOUBLES; function++)
        {
          double want = call (function, x, y), got = d[function][n];
          int same = got == want || (isnan (got) && isnan (want));
          CHECK (same || fabs (got - want) <= 8 * fabs (want) * 0x1p-52,
                 "%s of %.17g and %.17g: %.17g, not %.17g", names[function], x, y, got, want);
        }
      float u = x, v = y;
      for (int function = 0; function < FLOATS; function++)
        {
          float want = call_f (function, u, v), got = f[function][n];
          int same = got == want || (isnan (got) && isnan (want));
          CHECK (same || fabsf (got - want) <= 8 * fabsf (want) * 0x1p-23f,
                 "%s of %.9g and %.9g: %.9g, not %.9g", names_f[function], u, v, got, want);
        }
    }
  return 0;
}
