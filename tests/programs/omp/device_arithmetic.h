/* What device_arithmetic.c and its second unit share. */
enum { INTEGERS = 40, REALS = 40 };
struct results {
  long long integers[INTEGERS];
  double reals[REALS];
};
#pragma omp begin declare target
void compute(struct results *r, int seed);
#pragma omp end declare target
