/* The host's part of block_of_nowait_region_uses_openmp.c: half of the sum by threads, a
   quarter by tasks, the rest by a target region. */
#pragma omp requires reverse_offload

void sum_of_squares(int n, long *sum) {
  long by_threads = 0, by_tasks = 0, on_device = 0;
  int half = n / 2, quarter = 3 * n / 4;
#pragma omp parallel for reduction(+ : by_threads) num_threads(2)
  for (long i = 1; i <= half; i++)
    by_threads += i * i;
#pragma omp parallel num_threads(2)
#pragma omp single
  for (long i = half + 1; i <= quarter; i++) {
#pragma omp task firstprivate(i) shared(by_tasks)
#pragma omp atomic
    by_tasks += i * i;
  }
#pragma omp target map(tofrom : on_device) firstprivate(quarter, n)
  for (long i = quarter + 1; i <= n; i++)
    on_device += i * i;
  *sum = by_threads + by_tasks + on_device;
}
