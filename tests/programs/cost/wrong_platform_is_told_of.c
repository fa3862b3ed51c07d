// boomerang: checks: what is wrong in a platform file is named with file, line and key, and there is no device
// boomerang: on: sim
// boomerang: flags: -ldl
// boomerang: exit: failure
// boomerang: stderr: ^boomerang-sim: platform.toml:9: link.bandwidth_gbs: must be a number above 0, not -10$
#include "platform.h"

int main(void) {
  use_platform("[[device]]\nname = \"gpu0\"\nmemory = \"1G\"\nmultiprocessors = 4\n"
               "[[link]]\nfrom = \"host\"\nto = \"gpu0\"\nlatency_us = 2\nbandwidth_gbs = -10\n");
#pragma omp target
  ;
  return 0;
}
