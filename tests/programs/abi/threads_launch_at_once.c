// boomerang: checks: threads of the program launch kernels with requests at once, and each serves its own
#include <pthread.h>

#include "plugin.h"

#include "request.h"

IMAGE(image, REQUEST_PTX_70, "ask");

enum { THREADS = 6, ROUNDS = 20 };

static void *kernel;
static uint64_t block;
static _Thread_local int served;
static _Thread_local uint64_t number;

static void serve(uint64_t function, uint64_t count, uint64_t addresses, uint64_t sizes, uint64_t kinds, int device,
                  struct goacc_asyncqueue *queue) {
  (void)count, (void)sizes, (void)kinds, (void)device, (void)queue;
  uint64_t sender;
  CHECK(function == block, "function %#lx", (long)function);
  CHECK(PLUGIN(GOMP_OFFLOAD_dev2host)(0, &sender, (void *)addresses, 8), "addresses: %s", last_error);
  CHECK(sender == number, "thread %ld serves a request of thread %ld", (long)number, (long)sender);
  served++;
}

static void *start(void *argument) {
  number = (uintptr_t)argument;
  void *memory = PLUGIN(GOMP_OFFLOAD_alloc)(0, sizeof(struct request));
  CHECK(memory, "no memory: %s", last_error);
  for (int round = 0; round < ROUNDS; round++) {
    struct request r = run_requester(kernel, memory, (struct request){.function = block, .count = 1, .address = number});
    CHECK(r.served == 1 && served == round + 1, "thread %ld, round %d: %d requests", (long)number, round, served);
  }
  CHECK(PLUGIN(GOMP_OFFLOAD_free)(0, memory), "free: %s", last_error);
  return 0;
}

int main(void) {
  start_plugin(serve);
  kernel = load_requester(&image, &block);
  pthread_t threads[THREADS];
  for (uintptr_t i = 0; i < THREADS; i++)
    CHECK(!pthread_create(&threads[i], 0, start, (void *)(i + 1)), "no thread");
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], 0);
  CHECK(errors == 0, "a message although all went well: %s", last_error);
  return 0;
}
