/* The other translation unit of host_function_pointers_indirect.c. */
int negate(int x);
#pragma omp begin declare target indirect
int negate(int x) { return -x; }
#pragma omp end declare target
