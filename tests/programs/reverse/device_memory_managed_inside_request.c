// boomerang: checks: device memory is allocated, copied to and freed inside requests, again and again, without a deadlock
// boomerang: sources: device_memory_managed_inside_request_host.c
// boomerang: variants: BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll | BOOMERANG_DEVICE_RUNTIME=stock
// boomerang: stock: hangs: cuMemFree waits for the kernel that waits for the request
#include "../check.h"

#pragma omp requires reverse_offload

enum { ROUNDS = 20 };

void manage_memory(int round, int *value);

int main(void) {
  int wrong = -1;
#pragma omp target map(from : wrong)
  {
    int bad = 0;
    for (int i = 0; i < ROUNDS; i++) {
      int value = 0;
#pragma omp target device(ancestor : 1) firstprivate(i) map(always, tofrom : value)
      manage_memory(i, &value);
      bad += value != 1000 + i;
    }
    wrong = bad;
  }
  CHECK(wrong == 0, "%d rounds went wrong", wrong);
  return 0;
}
