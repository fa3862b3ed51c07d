/* The other translation unit of two_units_with_regions.c. */
#pragma omp begin declare target
int scale(int x);
int scale(int x) { return 10 * x; }
#pragma omp end declare target

int region_of_other_unit(int x);
int region_of_other_unit(int x) {
#pragma omp target map(tofrom : x)
  x = scale(x) + 2;
  return x;
}
