/* The host's part of soak.c. */
#pragma omp requires reverse_offload

void double_it(int *x) { *x *= 2; }

void region_inside(int *x) {
  int y = *x;
#pragma omp target map(tofrom : y) nowait
  y *= 2;
#pragma omp taskwait
  *x = y;
}
