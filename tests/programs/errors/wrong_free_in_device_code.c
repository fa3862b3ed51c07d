// boomerang: checks: what device code frees twice, or never had, is left alone, and the heap stays whole
// boomerang: plugins: ours
// boomerang: env: BOOMERANG_PTX_OPT=prune,heap
#include "../check.h"

int main(void) {
  int wrong = 0;
#pragma omp target map(tofrom : wrong)
  {
    char *one = malloc(100), *two = malloc(100);
    free(one);
    free(one);
    free(two + 16);
    free(two + 1);
    char *three = malloc(100), *four = malloc(100);
    wrong = !two || !three || !four || three == four || three == two || four == two;
    free(two);
    free(three);
    free(four);
  }
  CHECK(!wrong, "a block was given out twice");
  return 0;
}
