/* The library of requests_from_a_loaded_library.c. */
#pragma omp requires reverse_offload

void add_to_host(int *x, int y);

int library_region(int x);
int library_region(int x) {
#pragma omp target map(tofrom : x)
  {
    int v = x;
#pragma omp target device(ancestor : 1) map(always, tofrom : v)
    add_to_host(&v, 100);
    x = v;
  }
  return x;
}
