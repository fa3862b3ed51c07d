// boomerang: checks: what device code frees twice, or never had, is left alone, and the heap stays whole
// boomerang: plugins: ours
#include <string.h>

#include "../check.h"

#pragma omp declare target
static int fill(size_t bytes) {
  char *volatile block = malloc(bytes);
  return block != NULL;
}
#pragma omp end declare target

/* Does only the thing that the first argument names; with a second one in the part of the heap that grows, since the other is full. */
int main(int argc, char **argv) {
  const char *only = argc > 1 ? argv[1] : "all";
  int all = !strcmp(only, "all"), grown = argc > 2, wrong = 0;
  int twice = all || !strcmp(only, "twice"), large_twice = all || !strcmp(only, "large-twice");
  int inside = all || !strcmp(only, "inside"), never = all || !strcmp(only, "never");
  int before = !strcmp(only, "before");
#pragma omp target map(tofrom : wrong)
  {
    /* The first part has 64 MiB in pages of 16 KiB. */
    for (int i = 0; grown && i < 200; i++)
      wrong |= !fill(i < 63 ? (1 << 20) - 16 : 16000);
    /* Volatile: else the compiler leaves out blocks that nobody uses. */
    char *volatile one = malloc(100), *volatile two = malloc(100);
    char *volatile large = malloc(100000), *volatile gap = malloc(100000);
    free(one);
    if (twice)
      free(one);
    free(large);
    if (large_twice)
      free(large);
    if (inside) {
      free(two + 16);
      free(two + 1);
      free(gap + 50000);
    }
    if (never)
      free(two + 4096);
    if (before)
      *(volatile char *)(two - 16) ^= 1;
    char *volatile three = malloc(100), *volatile four = malloc(100);
    char *volatile other = malloc(100000), *volatile last = malloc(100000);
    wrong |= !two || !three || !four || three == four || three == two || four == two;
    wrong |= !gap || !other || !last || other == last || other == gap || last == gap;
    free(two);
    free(three);
    free(four);
    free(gap);
    free(other);
    free(last);
    free(NULL);
  }
  CHECK(!wrong, "a block was given out twice");
  return 0;
}
