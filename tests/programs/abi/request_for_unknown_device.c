// boomerang: checks: a request that names a device out of range ends the program with a message that names the number
// boomerang: exit: 3
// boomerang: stderr: ^fatal: .*99
// boomerang: timeout: 20
#include "plugin.h"

#include "request.h"

IMAGE(image, REQUEST_PTX_50, "ask");

static void serve(uint64_t function, uint64_t count, uint64_t addresses, uint64_t sizes, uint64_t kinds, int device,
                  struct goacc_asyncqueue *queue) {
  (void)function, (void)count, (void)addresses, (void)sizes, (void)kinds, (void)queue;
  CHECK(0, "the request was passed on with device %d", device);
}

int main(void) {
  start_plugin(serve);
  struct request r = {.device = 99};
  void *memory = PLUGIN(GOMP_OFFLOAD_alloc)(0, sizeof r);
  void *kernel = load_requester(&image, &r.function);
  run_requester(kernel, memory, r);
  exit(0);
}
