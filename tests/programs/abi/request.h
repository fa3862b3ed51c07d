/* A kernel that posts one request and waits for the reply, in PTX for old and new devices. As in code that GCC makes, the
   array of addresses lies on the soft stack (here it has one element), and a lock of the device keeps requests apart. */
#ifndef REQUEST_H
#define REQUEST_H

#include "image.h"

/* What the kernel finds in its variables, and sends. */
struct request {
  uint64_t function, count;
  uint64_t address; /* goes into the array of addresses */
  uint64_t sizes, kinds;
  int32_t device;
  uint32_t served; /* out: 1 when the kernel has its reply */
};

#define REQUEST_PTX(store, load)                                                              \
  ".visible .global .align 8 .u64 __gomp_rev_offload_var[1];\n"                               \
  ".global .align 4 .u32 lock[1];\n"                                                          \
  ".func block ()\n{ ret; }\n"                                                                \
  ".visible .global .align 8 .u64 $offload_func_table[1] = { block };\n"                      \
  PTX_KERNEL("ask")                                                                           \
  "{\n"                                                                                       \
  "  .reg .u64 %r, %s, %v, %a; .reg .u32 %x; .reg .pred %p;\n"                                \
  "  mov.u32 %x, %tid.x;\n"                                                                   \
  "  setp.ne.u32 %p, %x, 0;\n"                                                                \
  "  @%p bra done;\n"                                                                         \
  "locked:\n"                                                                                 \
  "  atom.global.cas.b32 %x, [lock], 0, 1;\n"                                                 \
  "  setp.ne.u32 %p, %x, 0;\n"                                                                \
  "  @%p bra locked;\n"                                                                       \
  "  membar.gl;\n"                                                                            \
  "  ld.param.u64 %r, [vars];\n"                                                              \
  "  ld.global.u64 %s, [__gomp_rev_offload_var];\n"                                           \
  "  ld.u64 %v, [%r+8]; st.u64 [%s+8], %v;\n"                                                 \
  "  ld.param.u64 %a, [stacks]; ld.param.u64 %v, [stack_size]; add.u64 %a, %a, %v;\n"         \
  "  sub.u64 %a, %a, 16; ld.u64 %v, [%r+16]; st.u64 [%a], %v; st.u64 [%s+16], %a;\n"          \
  "  ld.u64 %v, [%r+24]; st.u64 [%s+24], %v;\n"                                               \
  "  ld.u64 %v, [%r+32]; st.u64 [%s+32], %v;\n"                                               \
  "  ld.u32 %x, [%r+40]; st.u32 [%s+40], %x;\n"                                               \
  "  ld.u64 %v, [%r];\n" store                                                                \
  "again:\n" load                                                                             \
  "  setp.ne.u64 %p, %v, 0;\n"                                                                \
  "  @%p bra again;\n"                                                                        \
  "  st.u32 [%r+44], 1;\n"                                                                    \
  "  membar.gl; atom.global.exch.b32 %x, [lock], 0;\n"                                        \
  "done:\n"                                                                                   \
  "  ret;\n"                                                                                  \
  "}\n"

#define REQUEST_PTX_50 \
  PTX_50 REQUEST_PTX("  membar.sys; st.volatile.u64 [%s], %v;\n", "  ld.volatile.u64 %v, [%s]; membar.sys;\n")
#define REQUEST_PTX_70 PTX_70 REQUEST_PTX("  st.release.sys.u64 [%s], %v;\n", "  ld.acquire.sys.u64 %v, [%s];\n")

/* Loads `image`; gives its kernel, and in `block` the device's address of the block to ask for. */
static inline void *load_requester(const struct boomerang_image *image, uint64_t *block) {
  struct addr_pair *table = 0;
  uint64_t *blocks = 0;
  int entries = PLUGIN(GOMP_OFFLOAD_load_image)(0, IMAGE_VERSION, image, &table, &blocks, 0);
  CHECK(entries == 2, "%d entries: %s", entries, last_error);
  CHECK(blocks && blocks[0], "no function to ask for: %s", last_error);
  *block = blocks[0];
  return (void *)table[0].start;
}

/* Runs `kernel` with the variables at `memory` of the device, which then hold `r`; gives back what it left there. */
static inline struct request run_requester(void *kernel, void *memory, struct request r) {
  void *args[] = {(void *)(1L << 16 | 1 << 8), (void *)(1L << 16 | 2 << 8), 0};
  CHECK(PLUGIN(GOMP_OFFLOAD_host2dev)(0, memory, &r, sizeof r), "%s", last_error);
  PLUGIN(GOMP_OFFLOAD_run)(0, kernel, memory, args);
  CHECK(PLUGIN(GOMP_OFFLOAD_dev2host)(0, &r, memory, sizeof r), "%s", last_error);
  return r;
}

#endif
