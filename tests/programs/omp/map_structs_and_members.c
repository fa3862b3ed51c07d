// boomerang: checks: structures are mapped whole, by members, and with the arrays that their pointers point to
// boomerang: gcc: 14
#include "../check.h"

struct inner {
  int n;
  double *data;
};
struct outer {
  char tag;
  struct inner in;
  int plain[3];
};

int main(void) {
  double numbers[10];
  for (int i = 0; i < 10; i++)
    numbers[i] = i;
  struct outer whole = {'a', {1, 0}, {1, 2, 3}}, parts = {'b', {10, numbers}, {4, 5, 6}};

#pragma omp target map(tofrom : whole)
  {
    whole.tag++;
    whole.in.n += 10;
    whole.plain[2] *= 10;
  }
  CHECK(whole.tag == 'b' && whole.in.n == 11 && whole.plain[2] == 30, "whole: %c %d %d", whole.tag, whole.in.n,
        whole.plain[2]);

#pragma omp target map(tofrom : parts.tag, parts.plain) map(to : parts.in.n) map(tofrom : parts.in.data[0 : 10])
  {
    parts.tag = 'z';
    parts.plain[1] = 50;
    for (int i = 0; i < parts.in.n; i++)
      parts.in.data[i] *= 2;
  }
  CHECK(parts.tag == 'z' && parts.plain[1] == 50, "members: %c %d", parts.tag, parts.plain[1]);
  CHECK(parts.in.data == numbers, "the host's pointer was overwritten");
  for (int i = 0; i < 10; i++)
    CHECK(numbers[i] == 2 * i, "numbers[%d] is %g", i, numbers[i]);
  return 0;
}
