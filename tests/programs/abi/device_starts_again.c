// boomerang: checks: a device that was ended can be started again, and calls in between do no harm
#include "plugin.h"

int main(void) {
  start_plugin(0);
  char byte = 1;
  void *memory = PLUGIN(GOMP_OFFLOAD_alloc)(0, 100);
  CHECK(memory, "no memory: %s", last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_free)(0, memory), "free: %s", last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_fini_device)(0), "fini: %s", last_error);
  if (PLUGIN(GOMP_OFFLOAD_host2dev)(0, memory, &byte, 1))
    CHECK(0, "a copy to memory that is gone succeeded");
  CHECK(PLUGIN(GOMP_OFFLOAD_init_device)(0), "the device did not start again: %s", last_error);
  memory = PLUGIN(GOMP_OFFLOAD_alloc)(0, 100);
  CHECK(memory, "no memory after the second start: %s", last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_host2dev)(0, memory, &byte, 1), "a copy after the second start: %s", last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_fini_device)(0), "second fini: %s", last_error);
  return 0;
}
