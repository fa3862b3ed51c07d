// boomerang: checks: a request for a function that the host doesn't know ends the program although the kernel waits
// boomerang: exit: 1
// boomerang: stderr: ^no function 0x1234$
// boomerang: timeout: 20
#include "plugin.h"

#include "request.h"

IMAGE(image, REQUEST_PTX_50, "ask");

/* libgomp, too, looks the function up and ends the program if it isn't there. */
static void serve(uint64_t function, uint64_t count, uint64_t addresses, uint64_t sizes, uint64_t kinds, int device,
                  struct goacc_asyncqueue *queue) {
  (void)count, (void)addresses, (void)sizes, (void)kinds, (void)device, (void)queue;
  fprintf(stderr, "no function %#lx\n", (long)function);
  exit(1);
}

int main(void) {
  start_plugin(serve);
  uint64_t block;
  void *memory = PLUGIN(GOMP_OFFLOAD_alloc)(0, sizeof(struct request));
  run_requester(load_requester(&image, &block), memory, (struct request){.function = 0x1234});
  exit(0);
}
