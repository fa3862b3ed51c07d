// boomerang: checks: a reduction declared by the program combines structures over teams and over lanes
// boomerang: device-flags: -latomic
#include "../check.h"

struct range {
  int low, high;
};

#pragma omp begin declare target
static void widen(struct range *out, const struct range *in) {
  if (in->low < out->low)
    out->low = in->low;
  if (in->high > out->high)
    out->high = in->high;
}
#pragma omp end declare target

#pragma omp declare reduction(span : struct range : widen(&omp_out, &omp_in)) \
    initializer(omp_priv = (struct range){1 << 30, -(1 << 30)})

int main(void) {
  struct range r = {1 << 30, -(1 << 30)}, s = r;
#pragma omp target teams distribute parallel for map(tofrom : r) reduction(span : r)
  for (int i = 0; i < 1000; i++) {
    struct range one = {(i * 7) % 1000 - 300, (i * 7) % 1000 - 300};
    widen(&r, &one);
  }
  CHECK(r.low == -300 && r.high == 699, "over teams: %d to %d", r.low, r.high);
#pragma omp target simd map(tofrom : s) reduction(span : s)
  for (int i = 0; i < 1000; i++) {
    struct range one = {(i * 7) % 1000 - 300, (i * 7) % 1000 - 300};
    widen(&s, &one);
  }
  CHECK(s.low == -300 && s.high == 699, "over lanes: %d to %d", s.low, s.high);
  return 0;
}
