/* The host's part of fault_after_requests.c. */
#include <stdio.h>

void count(int i) {
  if (i == 3) {
    puts("3 requests");
    fflush(stdout);
  }
}
