/* A kernel that reports how it was launched, in PTX for old and new devices. */
#ifndef KERNEL_H
#define KERNEL_H

#include "image.h"

/* What the kernel finds and leaves in its variables. */
struct report {
  uint64_t stacks;     /* out: its second parameter */
  uint64_t stack_size; /* out: its third parameter */
  uint32_t teams;      /* out: blocks that ran */
  uint32_t lanes;      /* out: threads that ran, in all blocks */
  uint32_t width;      /* out: the block's first dimension */
  uint32_t height;     /* out: the block's second dimension */
  uint64_t stack_sum;  /* out: the sum of what the first threads of all warps read back from their soft stacks */
};

#define REPORT_PTX                                                                            \
  ".visible .global .align 4 .u32 counter[1] = { 5 };\n"                                      \
  ".visible .global .align 8 .u64 $offload_func_table[1] = { 0 };\n"                          \
  PTX_KERNEL("report")                                                                        \
  "{\n"                                                                                       \
  "  .reg .u64 %r, %s, %n, %a, %v, %w; .reg .u32 %x, %y, %h, %b, %t, %o; .reg .pred %p;\n"    \
  "  ld.param.u64 %r, [vars]; ld.param.u64 %s, [stacks]; ld.param.u64 %n, [stack_size];\n"    \
  "  mov.u32 %x, %tid.x; mov.u32 %y, %tid.y; mov.u32 %h, %ntid.y; mov.u32 %b, %ctaid.x;\n"    \
  "  atom.add.u32 %o, [%r+20], 1;\n"                                                          \
  "  setp.ne.u32 %p, %x, 0;\n"                                                                \
  "  @%p bra done;\n"                                                                         \
  /* The soft stack of warp y of block b is number b * height + y; it grows down. */          \
  "  mad.lo.u32 %t, %b, %h, %y;\n"                                                            \
  "  add.u32 %t, %t, 1;\n"                                                                    \
  "  cvt.u64.u32 %a, %t; mul.lo.u64 %a, %a, %n; add.u64 %a, %a, %s;\n"                        \
  "  cvt.u64.u32 %v, %t;\n"                                                                   \
  "  st.u64 [%a+-8], %v;\n"                                                                   \
  "  sub.u64 %w, %a, %n; st.u64 [%w], %v;\n"                                                  \
  "  ld.u64 %v, [%a+-8];\n"                                                                   \
  "  atom.add.u64 %w, [%r+32], %v;\n"                                                         \
  "  setp.ne.u32 %p, %y, 0;\n"                                                                \
  "  @%p bra done;\n"                                                                         \
  "  st.u64 [%r], %s; st.u64 [%r+8], %n;\n"                                                   \
  "  atom.add.u32 %o, [%r+16], 1;\n"                                                          \
  "  mov.u32 %t, %ntid.x; st.u32 [%r+24], %t; st.u32 [%r+28], %h;\n"                          \
  "  atom.global.add.u32 %o, [counter], 1;\n"                                                 \
  "done:\n"                                                                                   \
  "  ret;\n"                                                                                  \
  "}\n"

#endif
