// boomerang: checks: variables of the device mapped to, from, tofrom and alloc in a request travel in the directions named and no others
// boomerang: sources: map_scalars_host.c
// boomerang: variants: BOOMERANG_DEVICE_RUNTIME=stock | BOOMERANG_INLINE=0 | BOOMERANG_INLINE=64 | GOMP_REVERSE_OFFLOAD_THREADS=1 | GOMP_REVERSE_OFFLOAD_THREADS=4
#include "../check.h"

#pragma omp requires reverse_offload

void exchange(int *to, int *from, int *tofrom, double *wide, char *narrow);

int main(void) {
  int to, from, tofrom;
  double wide;
  char narrow;
#pragma omp target map(from : to, from, tofrom, wide, narrow)
  {
    int in = 10, out = 20, both = 30, scratch = 40;
    double d = 2.5;
    char c = 'c';
#pragma omp target device(ancestor : 1) map(to : in) map(from : out) map(tofrom : both, d, c) map(alloc : scratch)
    {
      scratch = 99;
      exchange(&in, &out, &both, &d, &c);
    }
    to = in + scratch;
    from = out;
    tofrom = both;
    wide = d;
    narrow = c;
  }
  CHECK(to == 50, "what was mapped to or alloc came back changed: %d", to);
  CHECK(from == 21, "mapped from: %d", from);
  CHECK(tofrom == 31, "mapped tofrom: %d", tofrom);
  CHECK(wide == 3.5, "double mapped tofrom: %g", wide);
  CHECK(narrow == 'd', "char mapped tofrom: %c", narrow);
  return 0;
}
