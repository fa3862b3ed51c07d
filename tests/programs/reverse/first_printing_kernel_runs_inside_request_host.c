/* The host's part of first_printing_kernel_runs_inside_request.c. */
#include <stdio.h>

#pragma omp requires reverse_offload

int print_on_device(void) {
  int number = 41;
#pragma omp target map(tofrom : number)
  {
    number++;
    printf("the device prints %d\n", number);
  }
  return number;
}
