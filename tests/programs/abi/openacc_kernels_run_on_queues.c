// boomerang: checks: OpenACC kernels run at once or on queues, whose work, callbacks and streams keep their order
#include "plugin.h"

#include "image.h"

/* Takes the address of { blocks, threads, width, height }, and counts itself. */
#define KERNEL                                                                        \
  ".visible .entry count(.param .u64 vars)\n"                                         \
  "{\n"                                                                               \
  "  .reg .u64 %r; .reg .u32 %x, %y, %o; .reg .pred %p;\n"                            \
  "  ld.param.u64 %r, [vars]; ld.u64 %r, [%r];\n"                                     \
  "  mov.u32 %x, %tid.x; mov.u32 %y, %tid.y;\n"                                       \
  "  atom.add.u32 %o, [%r+4], 1;\n"                                                   \
  "  or.b32 %x, %x, %y; setp.ne.u32 %p, %x, 0;\n"                                     \
  "  @%p bra done;\n"                                                                 \
  "  atom.add.u32 %o, [%r], 1;\n"                                                     \
  "  mov.u32 %x, %ntid.x; st.u32 [%r+8], %x; mov.u32 %y, %ntid.y; st.u32 [%r+12], %y;\n" \
  "done:\n"                                                                           \
  "  ret;\n"                                                                          \
  "}\n"

static const struct boomerang_ptx_object object = {PTX_50 KERNEL, sizeof(PTX_50 KERNEL)};
/* Compiled for any number of gangs and workers, and 64 lanes. */
static const struct boomerang_function function = {"count", {0, 0, 64}};
static const struct boomerang_image image = {&object, 1, 0, 0, &function, 1, 0};

struct counts {
  unsigned blocks, threads, width, height;
};

static void *to_free;
static int freed_in_callback;

static void free_there(void *calls) {
  ++*(int *)calls;
  freed_in_callback = PLUGIN(GOMP_OFFLOAD_free)(0, to_free);
}

int main(void) {
  start_plugin(0);
  CHECK(PLUGIN(GOMP_OFFLOAD_get_caps)() & 8, "no OpenACC");
  void *thread = PLUGIN(GOMP_OFFLOAD_openacc_create_thread_data)(0);
  CHECK(thread, "no thread data: %s", last_error);
  struct addr_pair *table = 0;
  CHECK(PLUGIN(GOMP_OFFLOAD_load_image)(0, IMAGE_VERSION, &image, &table, 0, 0) == 2, "load: %s", last_error);
  void *kernel = (void *)table[0].start;

  struct counts counts = {0}, *there = PLUGIN(GOMP_OFFLOAD_alloc)(0, sizeof counts);
  void **variables = PLUGIN(GOMP_OFFLOAD_alloc)(0, sizeof there);
  CHECK(PLUGIN(GOMP_OFFLOAD_host2dev)(0, there, &counts, sizeof counts), "%s", last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_host2dev)(0, variables, &there, sizeof there), "%s", last_error);

  unsigned dims[3] = {3, 2, 0};
  PLUGIN(GOMP_OFFLOAD_openacc_exec)(kernel, 1, 0, variables, dims, 0);
  CHECK(PLUGIN(GOMP_OFFLOAD_dev2host)(0, &counts, there, sizeof counts), "%s", last_error);
  CHECK(counts.blocks == 3 && counts.threads == 3 * 2 * 64, "%u gangs, %u threads", counts.blocks, counts.threads);
  CHECK(counts.width == 64 && counts.height == 2, "a gang of %u x %u", counts.width, counts.height);

  struct goacc_asyncqueue *one = PLUGIN(GOMP_OFFLOAD_openacc_async_construct)(0);
  struct goacc_asyncqueue *two = PLUGIN(GOMP_OFFLOAD_openacc_async_construct)(0);
  CHECK(one && two && one != two, "no queues: %s", last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_openacc_cuda_get_stream)(one) != PLUGIN(GOMP_OFFLOAD_openacc_cuda_get_stream)(two), "one stream");
  int calls = 0;
  to_free = PLUGIN(GOMP_OFFLOAD_alloc)(0, 12345);
  memset(&counts, 0, sizeof counts);
  CHECK(PLUGIN(GOMP_OFFLOAD_openacc_async_host2dev)(0, there, &counts, sizeof counts, one), "%s", last_error);
  for (int i = 0; i < 10; i++) {
    PLUGIN(GOMP_OFFLOAD_openacc_async_exec)(kernel, 1, 0, variables, dims, 0, i % 2 ? two : one);
    CHECK(PLUGIN(GOMP_OFFLOAD_openacc_async_serialize)(i % 2 ? two : one, i % 2 ? one : two), "%s", last_error);
  }
  PLUGIN(GOMP_OFFLOAD_openacc_async_queue_callback)(two, free_there, &calls);
  CHECK(PLUGIN(GOMP_OFFLOAD_openacc_async_dev2host)(0, &counts, there, sizeof counts, two), "%s", last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_openacc_async_synchronize)(two), "%s", last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_openacc_async_test)(one) == 1, "queue 1 is busy though queue 2 came after it");
  CHECK(counts.blocks == 30 && counts.threads == 30 * 128, "%u gangs, %u threads", counts.blocks, counts.threads);
  CHECK(calls == 1 && freed_in_callback, "%d callbacks, freed: %d", calls, freed_in_callback);
  CHECK(PLUGIN(GOMP_OFFLOAD_alloc)(0, 12345) == to_free, "what was freed in a callback is not used again");

  /* What is open is chosen so that it can run. */
  unsigned open[3] = {0, 0, 0};
  PLUGIN(GOMP_OFFLOAD_openacc_exec)(kernel, 1, 0, variables, open, 0);
  CHECK(PLUGIN(GOMP_OFFLOAD_dev2host)(0, &counts, there, sizeof counts), "%s", last_error);
  CHECK(counts.width == 64 && counts.height >= 1 && counts.height <= 15, "a gang of %u x %u", counts.width, counts.height);

  CHECK(PLUGIN(GOMP_OFFLOAD_openacc_get_property)(0, 1).val > 0, "no memory");
  CHECK(PLUGIN(GOMP_OFFLOAD_openacc_get_property)(0, 99).val == 0, "an unknown property has a value");
  CHECK(PLUGIN(GOMP_OFFLOAD_openacc_get_property)(99, 1).val == 0, "an unknown device has memory");
  CHECK(PLUGIN(GOMP_OFFLOAD_openacc_async_destruct)(one), "%s", last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_openacc_async_destruct)(two), "%s", last_error);
  PLUGIN(GOMP_OFFLOAD_openacc_destroy_thread_data)(thread);
  CHECK(PLUGIN(GOMP_OFFLOAD_fini_device)(0), "fini: %s", last_error);
  free(table);
  return 0;
}
