// boomerang: checks: data clauses and directives copy, keep and drop data as they say
// boomerang: flags: -fno-openmp -fopenacc
// boomerang: env: ACC_DEVICE_TYPE=nvidia
#include <openacc.h>

#include "../check.h"

enum { N = 100 };
static int in[N], out[N], both[N], only[N];

int main(void) {
  for (int i = 0; i < N; i++) {
    in[i] = i;
    out[i] = only[i] = -1;
    both[i] = 10 * i;
  }
#pragma acc data copyin(in) copyout(out) copy(both) create(only)
  {
    CHECK(acc_is_present(in, sizeof in) && acc_is_present(only, sizeof only), "data is missing in its region");
#pragma acc parallel loop present(in, out, both, only)
    for (int i = 0; i < N; i++) {
      only[i] = in[i] + 1;
      out[i] = 2 * only[i];
      both[i] += in[i];
      in[i] = 0;
    }
    CHECK(out[1] == -1 && both[1] == 10, "data came back before the region's end");
#pragma acc update self(only[10:20])
  }
  for (int i = 0; i < N; i++) {
    CHECK(in[i] == i, "in[%d] was copied back: %d", i, in[i]);
    CHECK(out[i] == 2 * (i + 1), "out[%d] is %d", i, out[i]);
    CHECK(both[i] == 11 * i, "both[%d] is %d", i, both[i]);
    CHECK(only[i] == (i >= 10 && i < 30 ? i + 1 : -1), "only[%d] is %d", i, only[i]);
  }
  CHECK(!acc_is_present(in, 1) && !acc_is_present(only, 1), "data is left after its region");

#pragma acc enter data copyin(in)
#pragma acc enter data copyin(in)
  in[5] = 1000;
#pragma acc update device(in[5:1])
#pragma acc parallel loop present(in) copyout(out)
  for (int i = 0; i < N; i++)
    out[i] = in[i];
#pragma acc exit data delete(in)
  CHECK(acc_is_present(in, sizeof in), "the first exit dropped what was entered twice");
#pragma acc exit data delete(in)
  CHECK(!acc_is_present(in, 1), "the second exit did not drop the data");
  for (int i = 0; i < N; i++)
    CHECK(out[i] == (i == 5 ? 1000 : i), "out[%d] is %d", i, out[i]);
  return 0;
}
