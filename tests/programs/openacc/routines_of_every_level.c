// boomerang: checks: routines run at the level that they are declared for
// boomerang: flags: -fno-openmp -fopenacc
// boomerang: env: ACC_DEVICE_TYPE=nvidia
#include <openacc.h>

#include "../check.h"

enum { ROWS = 16, COLUMNS = 96 };
static int a[ROWS][COLUMNS];

#pragma acc routine seq
static int square(int x) {
  return x * x;
}

#pragma acc routine vector
static void fill_row(int *row, int value) {
#pragma acc loop vector
  for (int j = 0; j < COLUMNS; j++)
    row[j] = square(value) + j;
}

#pragma acc routine worker
static void fill_rows(int (*rows)[COLUMNS], int first, int count) {
#pragma acc loop worker
  for (int i = 0; i < count; i++)
    fill_row(rows[first + i], first + i);
}

#pragma acc routine gang
static void fill(int (*rows)[COLUMNS]) {
#pragma acc loop gang
  for (int i = 0; i < ROWS; i += 4)
    fill_rows(rows, i, 4);
}

#pragma acc routine seq
static int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

int main(void) {
  int last = 0;
#pragma acc parallel copyout(a) num_gangs(4) num_workers(4) vector_length(32)
  fill(a);
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLUMNS; j++)
      CHECK(a[i][j] == i * i + j, "a[%d][%d] is %d", i, j, a[i][j]);
#pragma acc serial copyout(last)
  last = fibonacci(12);
  CHECK(last == 144, "the 12th Fibonacci number is %d", last);
  return 0;
}
