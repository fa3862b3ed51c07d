// boomerang: checks: kernels by hand that call the driver's malloc and free keep them, whatever passes run over the image
// boomerang: variants: BOOMERANG_PTX_OPT=0 | BOOMERANG_HEAP_CHECK=1
#include "plugin.h"

#include "image.h"

#define ONE_LANE "  .reg .u32 %x; .reg .pred %q;\n  mov.u32 %x, %tid.x; setp.ne.u32 %q, %x, 0; @%q ret;\n"

/* Allocates in one kernel and frees in the other: only one and the same heap can do that. The first leaves the address in its memory. */
#define ALLOCATING_PTX                                                                                       \
  ".extern .func (.param .b64 r) malloc (.param .b64 n);\n.extern .func free (.param .b64 p);\n"             \
  ".visible .global .align 8 .u64 $offload_func_table[2] = { 0, 0 };\n"                                      \
  PTX_KERNEL("take")                                                                                         \
  "{\n  .reg .u64 %v, %p;\n" ONE_LANE "  ld.param.u64 %v, [vars];\n"                                           \
  "  { .param .b64 r; .param .b64 n; st.param.b64 [n], 100; call (r), malloc, (n); ld.param.b64 %p, [r]; }\n" \
  "  st.u64 [%v], %p;\n  st.u64 [%p], 7;\n  ret;\n}\n"                                                       \
  PTX_KERNEL("give")                                                                                         \
  "{\n  .reg .u64 %v, %p;\n" ONE_LANE "  ld.param.u64 %v, [vars];\n  ld.u64 %p, [%v];\n  ld.u64 %v, [%p];\n"             \
  "  { .param .b64 p; st.param.b64 [p], %p; call free, (p); }\n  ret;\n}\n"

/* What newlib's function is called, but not what it is. */
#define NOT_NEWLIBS_PTX                                                                                      \
  ".visible .func (.param .b64 r) __nvptx_malloc (.param .b64 n)\n"                                          \
  "{\n  .reg .u64 %n, %p;\n  ld.param.u64 %n, [n];\n"                                                        \
  "  { .param .b64 r1; .param .b64 n1; st.param.b64 [n1], %n; call (r1), malloc, (n1); ld.param.b64 %p, [r1]; }\n" \
  "  st.param.b64 [r], %p;\n  ret;\n}\n"

static const char ptx[] = PTX_50 ALLOCATING_PTX NOT_NEWLIBS_PTX;
static const struct boomerang_ptx_object object = {ptx, sizeof ptx};
static const struct boomerang_function kernels[] = {{"take", {0, 0, 0}}, {"give", {0, 0, 0}}};
static const struct boomerang_image image = {&object, 1, 0, 0, kernels, 2, 0};

int main(void) {
  start_plugin(0);
  void *memory = PLUGIN(GOMP_OFFLOAD_alloc)(0, 8);
  CHECK(memory, "no memory: %s", last_error);
  struct addr_pair *table = 0;
  int entries = PLUGIN(GOMP_OFFLOAD_load_image)(0, IMAGE_VERSION, &image, &table, 0, 0);
  CHECK(entries == 3, "%d entries: %s", entries, last_error);
  void *args[] = {(void *)(1l << 16 | 1 << 8), (void *)(1l << 16 | 2 << 8), 0};
  for (int kernel = 0; kernel < 2; kernel++)
    PLUGIN(GOMP_OFFLOAD_run)(0, (void *)table[kernel].start, memory, args);
  CHECK(PLUGIN(GOMP_OFFLOAD_unload_image)(0, IMAGE_VERSION, &image), "unload: %s", last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_free)(0, memory), "free: %s", last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_fini_device)(0), "fini: %s", last_error);
  free(table);
  return 0;
}
