// boomerang: checks: a request of a kernel reaches the program's callback on the launching thread, with its arrays, and the kernel gets its reply
// boomerang: variants: BOOMERANG_WAIT=spin | BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll | BOOMERANG_SIM_MEMOPS=0
#include <pthread.h>

#include "plugin.h"

#include "request.h"

IMAGE(image_50, REQUEST_PTX_50, "ask");
IMAGE(image_70, REQUEST_PTX_70, "ask");

static struct request expected;
static pthread_t launcher;
static int calls;

/* What libgomp's GOMP_PLUGIN_target_rev does: fetch the arrays and the data, run the block, send the data back. */
static void serve(uint64_t function, uint64_t count, uint64_t addresses, uint64_t sizes, uint64_t kinds, int device,
                  struct goacc_asyncqueue *queue) {
  uint64_t address, size;
  unsigned short kind;
  int value;
  (void)queue;
  CHECK(pthread_equal(pthread_self(), launcher), "another thread serves");
  CHECK(function == expected.function, "function %#lx", (long)function);
  CHECK(count == 1 && device == 0, "count %ld, device %d", (long)count, device);
  CHECK(sizes == expected.sizes && kinds == expected.kinds, "other arrays");
  CHECK(PLUGIN(GOMP_OFFLOAD_dev2host)(0, &address, (void *)addresses, 8), "addresses: %s", last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_dev2host)(0, &size, (void *)sizes, 8), "sizes: %s", last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_dev2host)(0, &kind, (void *)kinds, 2), "kinds: %s", last_error);
  CHECK(address == expected.address, "the item is at %#lx", (long)address);
  CHECK(size == 4 && kind == 0x203, "size %ld, kind %#x", (long)size, kind);
  CHECK(PLUGIN(GOMP_OFFLOAD_dev2host)(0, &value, (void *)address, 4), "data: %s", last_error);
  CHECK(value == 41 + calls, "value %d in call %d", value, calls);
  value++;
  CHECK(PLUGIN(GOMP_OFFLOAD_host2dev)(0, (void *)address, &value, 4), "data back: %s", last_error);
  calls++;
}

/* What the device holds: the request, its arrays, and the int that it maps. */
struct variables {
  struct request request;
  uint64_t size;
  unsigned short kind;
  int value;
};

int main(void) {
  start_plugin(serve);
  launcher = pthread_self();
  char *memory = PLUGIN(GOMP_OFFLOAD_alloc)(0, sizeof(struct variables));
  CHECK(memory, "no memory: %s", last_error);
  struct variables v = {.size = 4, .kind = 0x203, .value = 41};
  CHECK(PLUGIN(GOMP_OFFLOAD_host2dev)(0, memory, &v, sizeof v), "%s", last_error);

  expected = (struct request){.count = 1,
                              .address = (uintptr_t)memory + offsetof(struct variables, value),
                              .sizes = (uintptr_t)memory + offsetof(struct variables, size),
                              .kinds = (uintptr_t)memory + offsetof(struct variables, kind)};
  const struct boomerang_image *images[] = {&image_50, &image_70};
  for (int i = 0; i < 2; i++) {
    void *kernel = load_requester(images[i], &expected.function);
    for (int round = 0; round < 20; round++) {
      int before = calls;
      struct request r = run_requester(kernel, memory, expected);
      CHECK(r.served == 1 && calls == before + 1, "round %d: %d calls, served %u", round, calls - before, r.served);
    }
  }
  CHECK(PLUGIN(GOMP_OFFLOAD_dev2host)(0, &v, memory, sizeof v), "%s", last_error);
  CHECK(v.value == 41 + 40, "after 40 requests the value is %d", v.value);
  for (int i = 0; i < 2; i++)
    CHECK(PLUGIN(GOMP_OFFLOAD_unload_image)(0, IMAGE_VERSION, images[i]), "unload: %s", last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_free)(0, memory), "free: %s", last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_fini_device)(0), "fini: %s", last_error);
  CHECK(errors == 0, "a message although all went well: %s", last_error);
  return 0;
}
