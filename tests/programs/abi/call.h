/* A kernel whose threads each call the host through the public device API, in PTX by hand. */
#ifndef CALL_H
#define CALL_H

#include "image.h"

/* What each thread finds and leaves in its part of the variables. */
struct caller {
  uint64_t value;    /* out: 0 */
  uint64_t answer;   /* out: what the host answered */
  uint32_t called;   /* out: what boomerang_call returned */
  uint32_t posted;   /* out: how many of the posts were taken */
  uint32_t refused;  /* out: what a call of too many bytes returned */
  uint32_t capacity; /* out: what boomerang_capacity returned */
};

/* What the calls and posts ask for. */
enum { TRIPLE = 1, COUNT = 2, TOO_MUCH = 3, LAST_ACT = 4 };
#define POSTS 4

#define CALL_HOST(function, opcode, bytes)                                  \
  "  { .param .b32 r, o, n; .param .b64 d;\n"                               \
  "    st.param.b32 [o], " opcode "; st.param.b64 [d], %d; st.param.b32 [n], " bytes ";\n" \
  "    call (r), " function ", (o, d, n); ld.param.b32 %x, [r]; }\n"

#define CALL_PTX                                                                              \
  ".extern .func (.param .b32 r) boomerang_call (.param .b32 o, .param .b64 d, .param .b32 n);\n" \
  ".extern .func (.param .b32 r) boomerang_post (.param .b32 o, .param .b64 d, .param .b32 n);\n" \
  ".extern .func (.param .b32 r) boomerang_capacity ();\n"                                    \
  PTX_KERNEL("call_host")                                                                     \
  "{\n"                                                                                       \
  "  .reg .u64 %d, %z; .reg .u32 %x, %y, %i; .reg .pred %p;\n"                                \
  /* The thread's number times the size of its part. */                                       \
  "  mov.u32 %x, %ctaid.x; mov.u32 %y, %ntid.y; mov.u32 %i, %tid.y; mad.lo.u32 %i, %x, %y, %i;\n" \
  "  mov.u32 %x, %tid.x; mad.lo.u32 %i, %i, 32, %x;\n"                                        \
  "  ld.param.u64 %d, [vars]; mul.wide.u32 %z, %i, 32; add.u64 %d, %d, %z;\n"                 \
  CALL_HOST("boomerang_call", "1", "16")                                                      \
  "  st.u32 [%d+16], %x;\n"                                                                   \
  "  mov.u32 %i, 0; mov.u32 %y, 0;\n"                                                         \
  "again:\n"                                                                                  \
  CALL_HOST("boomerang_post", "2", "5")                                                       \
  "  add.u32 %y, %y, %x; add.u32 %i, %i, 1;\n"                                                \
  "  setp.ne.u32 %p, %i, 4;\n"                                                               \
  "  @%p bra again;\n"                                                                        \
  "  st.u32 [%d+20], %y;\n"                                                                   \
  "  { .param .b32 r; call (r), boomerang_capacity, (); ld.param.b32 %y, [r]; }\n"            \
  "  st.u32 [%d+28], %y; add.u32 %y, %y, 1;\n"                                                \
  CALL_HOST("boomerang_call", "3", "%y")                                                      \
  "  st.u32 [%d+24], %x;\n"                                                                   \
  CALL_HOST("boomerang_post", "4", "8")                                                       \
  /* At once, although nobody has waited for the host. */                                     \
  "  mov.u64 %z, 0; st.u64 [%d], %z;\n"                                                       \
  "  ret;\n"                                                                                  \
  "}\n"

/* Loads `image` and gives its kernel. */
static inline void *load_caller(const struct boomerang_image *image) {
  struct addr_pair *table = 0;
  int entries = PLUGIN(GOMP_OFFLOAD_load_image)(0, IMAGE_VERSION, image, &table, 0, 0);
  CHECK(entries == 2, "%d entries: %s", entries, last_error);
  void *kernel = (void *)table[0].start;
  free(table);
  return kernel;
}

/* Runs `kernel` with so many teams and threads, 32 callers in each thread. */
static inline void run_callers(void *kernel, void *memory, long teams, long threads) {
  void *args[] = {(void *)(teams << 16 | 1 << 8), (void *)(threads << 16 | 2 << 8), 0};
  PLUGIN(GOMP_OFFLOAD_run)(0, kernel, memory, args);
}

#endif
