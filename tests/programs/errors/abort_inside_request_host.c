/* The host's part of abort_inside_request.c. */
#include <stdio.h>
#include <stdlib.h>

void give_up(void) {
  fputs("the host gives up\n", stderr);
  abort();
}
