// boomerang: checks: what the device prints is on the standard output when the region is over, formatted as on the host
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

#include "../check.h"

int main(void) {
  char path[] = "printed-XXXXXX", text[1000] = "";
  int file = mkstemp(path), screen = dup(1);
  CHECK(file >= 0 && screen >= 0, "no file to print to");
  unlink(path);
  dup2(file, 1);
#pragma omp target
  {
    printf("plain\n");
    printf("int %d, unsigned %u, hex %x, char %c, %s\n", -42, 42u, 0xbeef, 'c', "string");
    printf("long %ld, %5.2f|%-6d|%06d|%e\n", -(1L << 40), 3.14159, 12, 34, 1234.5);
  }
  ssize_t length = pread(file, text, sizeof text - 1, 0);
  dup2(screen, 1);
  CHECK(length > 0, "nothing was printed by the end of the region");
  CHECK(!strcmp(text, "plain\n"
                      "int -42, unsigned 42, hex beef, char c, string\n"
                      "long -1099511627776,  3.14|12    |000034|1.234500e+03\n"),
        "printed: %s", text);
  return 0;
}
