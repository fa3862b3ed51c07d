// boomerang: checks: lanes of a warp that wait at different barrier instructions end the kernel, and the report says which lanes wait where
// boomerang: on: sim
// boomerang: exit: 3
// boomerang: stderr: ^fatal: .*meet_apart
// boomerang: stderr: ^  the lanes of this warp wait at different barrier instructions, and must all come to one:$
// boomerang: stderr: ^    lanes 0-7: meet_apart \(object 0, PTX line \d+\)$
// boomerang: stderr: ^    lanes 8-31: meet_apart \(object 0, PTX line \d+\)$
// boomerang: timeout: 20
#include "plugin.h"

#include "image.h"

IMAGE(image,
      PTX_50 PTX_KERNEL("meet_apart")
      "{\n"
      "  .reg .u32 %x; .reg .pred %p;\n"
      "  mov.u32 %x, %laneid;\n"
      "  setp.lt.u32 %p, %x, 8;\n"
      "  @%p bra few;\n"
      "  bar.sync 0;\n"
      "  ret;\n"
      "few:\n"
      "  bar.sync 0;\n"
      "  ret;\n"
      "}\n"
      ".visible .global .align 8 .u64 $offload_func_table[1] = { 0 };\n",
      "meet_apart");

int main(void) {
  start_plugin(0);
  run_kernel(&image);
  exit(0);
}
