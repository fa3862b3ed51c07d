// boomerang: checks: a libcuda that lacks functions gives no devices, and one message that names what is missing
// boomerang: library: incomplete_libcuda_gives_no_devices_cuda.c
// boomerang: flags: -Wl,-soname,libcuda.so.1
// boomerang: env: BOOMERANG_DEVICE=auto
#include <libgen.h>

#include "plugin.h"

int main(int argc, char **argv) {
  char path[4096];
  CHECK(argc > 0, "the program needs to know where it lies");
  snprintf(path, sizeof path, "%s/incomplete_libcuda_gives_no_devices_cuda.so", dirname(argv[0]));
  /* It is named libcuda.so.1, so it is what the plugin gets when it asks for that. */
  CHECK(dlopen(path, RTLD_NOW), "%s", dlerror());
  struct boomerang_host_table table = {.size = sizeof table, .malloc = malloc, .error = host_error, .fatal = host_fatal};
  CHECK(PLUGIN(boomerang_set_host_table)(&table), "the host table was refused");
  int devices = PLUGIN(GOMP_OFFLOAD_get_num_devices)(0);
  CHECK(devices == 0, "%d devices", devices);
  CHECK(errors <= 1, "%d messages, the last: %s", errors, last_error);
  CHECK(errors == 0 || strstr(last_error, "cu"), "the message names no function: %s", last_error);
  return 0;
}
