#include <unistd.h>

void serve_slowly(int *x) {
  sleep(2);
  *x += 1;
}
