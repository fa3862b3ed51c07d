/* The host's part of hello.c. */
#include <stdio.h>

void greet_on_host(int from_device, int *answer) {
  printf("Hello from the host, called by %s\n", from_device ? "the GPU" : "the host itself");
  *answer = 41;
}
