/* The library of images_of_a_loaded_library.c. */
#pragma omp begin declare target
int calls = 0;
#pragma omp end declare target

int library_region(int x);
int library_region(int x) {
#pragma omp target map(tofrom : x)
  x = x * ++calls + 5;
  return x;
}
