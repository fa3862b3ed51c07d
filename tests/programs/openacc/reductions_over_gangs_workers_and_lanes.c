// boomerang: checks: reductions over gangs, workers and vector lanes take every iteration once
// boomerang: flags: -fno-openmp -fopenacc
// boomerang: env: ACC_DEVICE_TYPE=nvidia
#include <openacc.h>

#include "../check.h"

enum { ROWS = 60, COLUMNS = 500 };
static int a[ROWS][COLUMNS];

int main(void) {
  long sum = 0, expected = 0;
  int largest = 0, rows[ROWS];
  double product = 1;
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLUMNS; j++) {
      a[i][j] = i * 7 + j % 13;
      expected += a[i][j];
    }

#pragma acc parallel loop gang worker vector collapse(2) copyin(a) reduction(+ : sum)
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLUMNS; j++)
      sum += a[i][j];
  CHECK(sum == expected, "the sum over everything is %ld, not %ld", sum, expected);

#pragma acc parallel loop gang copyin(a) copyout(rows) reduction(max : largest)
  for (int i = 0; i < ROWS; i++) {
    int row = 0;
#pragma acc loop worker reduction(+ : row)
    for (int k = 0; k < COLUMNS / 50; k++) {
      int part = 0;
#pragma acc loop vector reduction(+ : part)
      for (int j = k * 50; j < (k + 1) * 50; j++)
        part += a[i][j];
      row += part;
    }
    rows[i] = row;
    largest = row > largest ? row : largest;
  }
  expected = 0;
  for (int i = 0; i < ROWS; i++) {
    int row = 0;
    for (int j = 0; j < COLUMNS; j++)
      row += a[i][j];
    CHECK(rows[i] == row, "the sum of row %d is %d, not %d", i, rows[i], row);
    expected = row > expected ? row : expected;
  }
  CHECK(largest == expected, "the largest row is %d, not %ld", largest, expected);

#pragma acc parallel loop gang num_gangs(8) vector reduction(* : product)
  for (int i = 0; i < 100; i++)
    product *= i < 20 ? 2 : 1;
  CHECK(product == 1 << 20, "the product is %g", product);
  return 0;
}
