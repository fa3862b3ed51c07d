// boomerang: checks: the host maps 64 MiB inside a request, and the waiting kernel then reads and writes them on the device
// boomerang: sources: data_entered_inside_request_host.c
// boomerang: stock: hangs: cuMemFree waits for the kernel that waits for the request
// boomerang: variants: BOOMERANG_DEVICE_RUNTIME=stock
#include <stddef.h>

#include "../check.h"

#pragma omp requires reverse_offload

enum { STEP = 65536 };

void enter(long **device_pointer, size_t *count);
void leave(void);

int main(void) {
  int wrong = -1;
#pragma omp target map(from : wrong)
  {
    long *data = 0;
    size_t n = 0;
    int bad = 0;
#pragma omp target device(ancestor : 1) map(tofrom : data, n)
    enter(&data, &n);
    for (size_t i = 0; i < n; i += STEP) {
      bad += data[i] != (long)i;
      data[i] = 2 * data[i] + 1;
    }
    wrong = bad;
#pragma omp target device(ancestor : 1)
    leave();
  }
  CHECK(wrong == 0, "the device read %d wrong values", wrong);
  return 0;
}
