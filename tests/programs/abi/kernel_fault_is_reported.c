// boomerang: checks: a kernel that faults ends the program with a message that has the kernel's name and the driver's error
// boomerang: exit: 3
// boomerang: stderr: ^fatal: .*wild_store
// boomerang: timeout: 20
// boomerang: variants: BOOMERANG_WAIT=spin | BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll
#include "plugin.h"

#include "image.h"

IMAGE(image,
      PTX_50 PTX_KERNEL("wild_store") "{ .reg .u64 %a; mov.u64 %a, 16; st.u64 [%a], %a; ret; }\n"
                                      ".visible .global .align 8 .u64 $offload_func_table[1] = { 0 };\n",
      "wild_store");

int main(void) {
  start_plugin(0);
  run_kernel(&image);
  exit(0);
}
