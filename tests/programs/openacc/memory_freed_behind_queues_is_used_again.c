// boomerang: checks: memory that is freed behind a queue is used again, without a wait
// boomerang: flags: -fno-openmp -fopenacc
// boomerang: env: ACC_DEVICE_TYPE=nvidia
// boomerang: gpu: alone
#include <openacc.h>

#include "../check.h"

enum { N = 1 << 20, ROUNDS = 30 };
static int a[N];

int main(void) {
  long sum = 0;
  for (int i = 0; i < N; i++)
    a[i] = 1;
  acc_init(acc_device_nvidia);
  size_t before = 0;
  for (int round = 0; round < ROUNDS; round++) {
#pragma acc parallel loop copyin(a) copy(sum) reduction(+ : sum) async(1)
    for (int i = 0; i < N; i += 1024)
      sum += a[i];
    if (round % 10 == 9)
      acc_wait(1);
    if (round == 9)
      before = acc_get_property(0, acc_device_nvidia, acc_property_free_memory);
  }
  acc_wait(1);
  size_t after = acc_get_property(0, acc_device_nvidia, acc_property_free_memory);
  CHECK(sum == ROUNDS * (N / 1024), "the sum is %ld", sum);
  CHECK(after + 12 * sizeof a >= before, "%zu bytes were free, then %zu", before, after);
  return 0;
}
