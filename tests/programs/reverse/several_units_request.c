// boomerang: checks: requests made in device functions of several translation units reach the right host blocks
// boomerang: sources: several_units_request_a.c several_units_request_b.c several_units_request_host.c
// boomerang: variants: BOOMERANG_DEVICE_RUNTIME=stock
#include "../check.h"

#pragma omp requires reverse_offload

#pragma omp begin declare target
int ask_in_a(int x);
int ask_in_b(int x);
#pragma omp end declare target
void append_digit(int *number, int digit);

int main(void) {
  int number = 0;
#pragma omp target map(tofrom : number)
  {
    int v = number;
#pragma omp target device(ancestor : 1) map(always, tofrom : v)
    append_digit(&v, 1);
    v = ask_in_a(v);
    v = ask_in_b(v);
    v = ask_in_a(v);
    number = v;
  }
  CHECK(number == 1232, "the blocks were served as %d", number);
  return 0;
}
