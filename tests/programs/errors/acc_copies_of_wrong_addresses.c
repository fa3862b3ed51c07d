// boomerang: checks: a copy from or to an address that cannot be right ends the program with a message
// boomerang: flags: -fno-openmp -fopenacc
// boomerang: env: ACC_DEVICE_TYPE=nvidia
// boomerang: args: size
// boomerang: exit: failure
// boomerang: stderr: invalid size
#include <openacc.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
  enum { N = 256 };
  char *host = calloc(2, N), *device = acc_malloc(N);
  const char *what = argc > 1 ? argv[1] : "";
  if (!strcmp(what, "size"))
    acc_memcpy_to_device(device, host, 2 * N);
  else if (!strcmp(what, "host"))
    acc_memcpy_from_device(0, device, N);
  else if (!strcmp(what, "device"))
    acc_memcpy_to_device(0, host, N);
  else if (!strcmp(what, "same"))
    acc_memcpy_to_device(device, device, N);
  else if (!strcmp(what, "free"))
    acc_free(device + N / 2);
  return 0;
}
