/* One of the device functions of several_units_request.c. */
#pragma omp requires reverse_offload

void append_digit(int *number, int digit);

#pragma omp begin declare target
int ask_in_a(int x);

int ask_in_a(int x) {
#pragma omp target device(ancestor : 1) map(always, tofrom : x)
  append_digit(&x, 2);
  return x;
}
#pragma omp end declare target
