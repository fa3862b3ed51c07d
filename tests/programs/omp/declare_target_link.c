// boomerang: checks: variables declared with `link` reach the device when they are mapped
#include "../check.h"

int big[1000];
#pragma omp declare target link(big)

#pragma omp begin declare target
static int sum_of_big(void) {
  int sum = 0;
  for (int i = 0; i < 1000; i++)
    sum += big[i];
  return sum;
}
#pragma omp end declare target

int main(void) {
  int sum = 0;
  for (int i = 0; i < 1000; i++)
    big[i] = i;
#pragma omp target map(tofrom : big) map(from : sum)
  {
    sum = sum_of_big();
    big[5] = -5;
  }
  CHECK(sum == 499500, "sum is %d", sum);
  CHECK(big[5] == -5, "big[5] came back as %d", big[5]);
  return 0;
}
