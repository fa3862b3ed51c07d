// boomerang: checks: while a kernel waits for its request, an allocation that finds memory short neither waits for the kernel nor gives up before it has tried what is kept
// boomerang: env: BOOMERANG_SIM_MEMORY=64M BOOMERANG_POOL=1T
// boomerang: on: sim
#include "plugin.h"

#include "request.h"

IMAGE(image, REQUEST_PTX_70, "ask");

enum { MIB = 1 << 20 };

static char *kept, *larger;

static void serve(uint64_t function, uint64_t count, uint64_t addresses, uint64_t sizes, uint64_t kinds, int device,
                  struct goacc_asyncqueue *queue) {
  (void)function, (void)count, (void)addresses, (void)sizes, (void)kinds, (void)device, (void)queue;
  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_alloc)(0, 40 * MIB), "41943040 bytes requested");
  char *memory = PLUGIN(GOMP_OFFLOAD_alloc)(0, 16 * MIB);
  CHECK(memory == kept, "16 MiB are at %p, not at %p where 20 MiB are free: %s", (void *)memory, (void *)kept, last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_free)(0, memory), "free: %s", last_error);
}

int main(void) {
  start_plugin(serve);
  uint64_t block;
  void *kernel = load_requester(&image, &block), *variables = PLUGIN(GOMP_OFFLOAD_alloc)(0, sizeof(struct request));
  kept = PLUGIN(GOMP_OFFLOAD_alloc)(0, 20 * MIB), larger = PLUGIN(GOMP_OFFLOAD_alloc)(0, 30 * MIB);
  CHECK(variables && kept && larger, "no memory: %s", last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_free)(0, kept) && PLUGIN(GOMP_OFFLOAD_free)(0, larger), "free: %s", last_error);
  struct request r = run_requester(kernel, variables, (struct request){.function = block, .count = 1});
  CHECK(r.served == 1, "the request was not served: %s", last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_alloc)(0, 40 * MIB), "what is kept was not given back after the kernel: %s", last_error);
  CHECK(errors == 0, "a message although all went well: %s", last_error);
  return 0;
}
