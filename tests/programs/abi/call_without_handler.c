// boomerang: checks: a kernel's call in a program that registered no handler ends it with a message that names the opcode
// boomerang: exit: 3
// boomerang: stderr: ^fatal: .*opcode 1\b.*boomerang_set_call_handler
// boomerang: timeout: 20
#include "plugin.h"

#include "call.h"

IMAGE(image, PTX_50 CALL_PTX, "call_host");

static void handle(uint32_t opcode, void *data, uint32_t bytes, void *context) {
  (void)data, (void)bytes, (void)context;
  CHECK(0, "opcode %u, although the handler was taken back", opcode);
}

int main(void) {
  start_plugin(0);
  PLUGIN(boomerang_set_call_handler)(handle, 0);
  PLUGIN(boomerang_set_call_handler)(0, 0);
  void *memory = PLUGIN(GOMP_OFFLOAD_alloc)(0, 32 * sizeof(struct caller));
  run_callers(load_caller(&image), memory, 1, 1);
  exit(0);
}
