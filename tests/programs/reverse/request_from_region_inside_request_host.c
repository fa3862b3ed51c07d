/* The recursion of request_from_region_inside_request.c: each level is a region that requests the next. */
#pragma omp requires reverse_offload

void descend_from_device(int levels, int *sum);

void descend(int levels, int *sum) {
  if (levels == 0)
    return;
  int total = *sum;
#pragma omp target map(tofrom : total) firstprivate(levels)
  {
    int v = total + levels;
#pragma omp target device(ancestor : 1) firstprivate(levels) map(always, tofrom : v)
    descend_from_device(levels - 1, &v);
    total = v;
  }
  *sum = total;
}
