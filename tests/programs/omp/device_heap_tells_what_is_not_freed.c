// boomerang: checks: at the end GOMP_DEBUG=1 tells how many blocks device code has not freed, of how many bytes, and the most that it had
// boomerang: plugins: ours
// boomerang: env: GOMP_DEBUG=1 BOOMERANG_HEAP=16777216
// boomerang: stderr: device code has not freed 4 blocks of 213[0-9]{3} bytes; its heap had [5-9][0-9]{5} bytes in use at most$
// boomerang: not-stderr: no room for
#include "../check.h"

int main(void) {
  int none = 0;
#pragma omp target map(tofrom : none)
  {
    char *large = malloc(500000);
    none += !large;
    free(large);
    for (int i = 0; i < 3; i++)
      none += !malloc(100);
    none += !malloc(200000);
  }
  CHECK(none == 0, "%d blocks could not be allocated", none);
  return 0;
}
