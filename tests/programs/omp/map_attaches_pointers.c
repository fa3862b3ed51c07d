// boomerang: checks: a pointer on the device is attached when its target is mapped, before or after the structure that holds it
#include "../check.h"

struct node {
  int value;
  struct node *next;
};

int main(void) {
  struct node b = {2, 0}, a = {1, &b};
  int sum = 0, table[4] = {1, 2, 3, 4};
  struct {
    int *p;
  } holder = {table};

  /* First the structure, then what it points to. */
#pragma omp target enter data map(to : a)
#pragma omp target enter data map(to : a.next[0 : 1])
#pragma omp target map(from : sum)
  {
    sum = a.value + a.next->value;
    a.next->value = 20;
  }
  CHECK(sum == 3, "a + b is %d", sum);
#pragma omp target update from(b)
  CHECK(b.value == 20, "b.value is %d", b.value);
#pragma omp target exit data map(release : a.next[0 : 1]) map(release : a)
  CHECK(a.next == &b, "the host's pointer was overwritten");

  /* First the target, then the structure. */
#pragma omp target enter data map(to : table)
#pragma omp target map(tofrom : holder.p[0 : 4])
  holder.p[3] = 40;
  CHECK(table[3] == 4, "present data came back without `always`");
#pragma omp target exit data map(from : table)
  CHECK(table[3] == 40, "table[3] is %d", table[3]);
  return 0;
}
