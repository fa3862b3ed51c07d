// boomerang: checks: array sections of arrays, pointers and matrices carry exactly the elements named
#include "../check.h"

int main(void) {
  enum { N = 64 };
  int array[N], matrix[8][8], *heap = malloc(N * sizeof *heap);
  for (int i = 0; i < N; i++)
    array[i] = heap[i] = matrix[i / 8][i % 8] = i;
#pragma omp target map(tofrom : array[8 : 16], heap[N / 2 :N / 4], matrix[2 : 3][0 : 8])
  {
    for (int i = 8; i < 24; i++)
      array[i] += 100;
    for (int i = N / 2; i < N / 2 + N / 4; i++)
      heap[i] += 200;
    for (int i = 2; i < 5; i++)
      for (int j = 0; j < 8; j++)
        matrix[i][j] += 300;
  }
  for (int i = 0; i < N; i++) {
    CHECK(array[i] == i + (i >= 8 && i < 24 ? 100 : 0), "array[%d] is %d", i, array[i]);
    CHECK(heap[i] == i + (i >= 32 && i < 48 ? 200 : 0), "heap[%d] is %d", i, heap[i]);
    CHECK(matrix[i / 8][i % 8] == i + (i >= 16 && i < 40 ? 300 : 0), "matrix[%d] is %d", i, matrix[i / 8][i % 8]);
  }
  free(heap);
  return 0;
}
