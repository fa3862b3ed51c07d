// boomerang: checks: constructors of declare-target variables run on the device before its first region
// boomerang: gcc: 15
#include "../check.h"

#pragma omp begin declare target
struct Table {
  int squares[10];
  Table() {
    for (int i = 0; i < 10; i++)
      squares[i] = i * i;
  }
};
Table table;
static int seed() { return 17; }
int computed = seed() + 1;
#pragma omp end declare target

int main() {
  int sum = 0, c = 0;
#pragma omp target map(from : sum, c)
  {
    sum = 0;
    for (int i = 0; i < 10; i++)
      sum += table.squares[i];
    c = computed;
    table.squares[0] = 100;
  }
  CHECK(sum == 285, "the table's sum is %d", sum);
  CHECK(c == 18, "a variable with a computed value is %d", c);
  CHECK(table.squares[0] == 0, "host and device share the table");
  return 0;
}
