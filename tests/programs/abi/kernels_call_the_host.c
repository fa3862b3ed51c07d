// boomerang: checks: each thread of a plain PTX kernel calls the host and gets its answer; posts are all handled before the kernel's end is reported
// boomerang: variants: BOOMERANG_WAIT=spin | BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll | BOOMERANG_SIM_MEMOPS=0 | BOOMERANG_DEVICE_RUNTIME=stock
#include <pthread.h>

#include "plugin.h"

#include "call.h"

IMAGE(image_50, PTX_50 CALL_PTX, "call_host");
IMAGE(image_70, PTX_70 CALL_PTX, "call_host");

/* 192 callers, and 16 slots. */
#define TEAMS 2
#define THREADS 3
#define CALLERS (TEAMS * THREADS * 32)

static pthread_t launcher;
static int counts[CALLERS], last_acts[CALLERS], triples;

static void handle(uint32_t opcode, void *data, uint32_t bytes, void *context) {
  uint64_t value = 0;
  CHECK(context == counts, "another context");
  CHECK(pthread_equal(pthread_self(), launcher), "another thread handles it");
  memcpy(&value, data, bytes < 8 ? bytes : 8);
  CHECK(value >= 1000 && value < 1000 + CALLERS, "opcode %u: value %ld", opcode, (long)value);
  switch (opcode) {
  case TRIPLE:
    CHECK(bytes == 16, "%u bytes", bytes);
    ((uint64_t *)data)[1] = value * 3;
    triples++;
    break;
  case COUNT:
    CHECK(bytes == 5, "%u bytes", bytes);
    counts[value - 1000]++;
    memset(data, 0xff, bytes); /* reaches nobody */
    break;
  case LAST_ACT:
    CHECK(bytes == 8, "%u bytes", bytes);
    CHECK(counts[value - 1000] % POSTS == 0, "handled before an earlier post");
    last_acts[value - 1000]++;
    break;
  default:
    CHECK(0, "opcode %u with %u bytes", opcode, bytes);
  }
}

int main(void) {
  start_plugin(0);
  launcher = pthread_self();
  PLUGIN(boomerang_set_call_handler)(handle, counts);
  static struct caller callers[CALLERS];
  void *memory = PLUGIN(GOMP_OFFLOAD_alloc)(0, sizeof callers);
  const struct boomerang_image *images[] = {&image_50, &image_70};
  for (int round = 0; round < 2; round++) {
    const struct boomerang_image *image = images[round % 2];
    void *kernel = load_caller(image);
    for (int i = 0; i < CALLERS; i++)
      callers[i] = (struct caller){.value = 1000 + i};
    CHECK(PLUGIN(GOMP_OFFLOAD_host2dev)(0, memory, callers, sizeof callers), "%s", last_error);
    run_callers(kernel, memory, TEAMS, THREADS);
    CHECK(triples == CALLERS * (round + 1), "%d calls handled in %d rounds", triples, round + 1);
    for (int i = 0; i < CALLERS; i++) {
      CHECK(counts[i] == POSTS * (round + 1), "%d posts of caller %d handled", counts[i], i);
      CHECK(last_acts[i] == round + 1, "%d last posts of caller %d handled", last_acts[i], i);
    }
    CHECK(PLUGIN(GOMP_OFFLOAD_dev2host)(0, callers, memory, sizeof callers), "%s", last_error);
    for (int i = 0; i < CALLERS; i++) {
      struct caller c = callers[i];
      CHECK(c.called == 1 && c.answer == (1000 + i) * 3ul, "caller %d: %u, answer %ld", i, c.called, (long)c.answer);
      CHECK(c.posted == POSTS && c.value == 0, "caller %d: %u posts, value %ld", i, c.posted, (long)c.value);
      CHECK(c.capacity >= 16 && c.refused == 0, "caller %d: capacity %u, %u for more", i, c.capacity, c.refused);
    }
    CHECK(PLUGIN(GOMP_OFFLOAD_unload_image)(0, IMAGE_VERSION, image), "unload: %s", last_error);
  }
  CHECK(PLUGIN(GOMP_OFFLOAD_free)(0, memory), "free: %s", last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_fini_device)(0), "fini: %s", last_error);
  CHECK(errors == 0, "a message although all went well: %s", last_error);
  return 0;
}
