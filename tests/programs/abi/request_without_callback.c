// boomerang: checks: a request in a program that registered nothing to serve it ends the program with a message
// boomerang: exit: 3
// boomerang: stderr: ^fatal: 
// boomerang: timeout: 20
#include "plugin.h"

#include "request.h"

IMAGE(image, REQUEST_PTX_50, "ask");

int main(void) {
  start_plugin(0);
  struct request r = {0};
  void *memory = PLUGIN(GOMP_OFFLOAD_alloc)(0, sizeof r);
  void *kernel = load_requester(&image, &r.function);
  run_requester(kernel, memory, r);
  exit(0);
}
