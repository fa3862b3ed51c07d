// boomerang: checks: a program that brings malloc and free of its own runs with them on the device, with all passes on and off
// boomerang: env: GOMP_DEBUG=1
// boomerang: variants: BOOMERANG_PTX_OPT=0 | BOOMERANG_PTX_OPT=heap
// boomerang: not-stderr: heap put into
#include <stdint.h>
#include <string.h>

#include "../check.h"

#pragma omp declare target
/* The host's share is for all that libraries allocate. */
static char arena[256 << 20] __attribute__((aligned(16)));
static unsigned long used, freed;

void *malloc(size_t bytes) {
  unsigned long at = __atomic_fetch_add(&used, (bytes + 31) / 16 * 16, __ATOMIC_RELAXED);
  if (bytes > sizeof arena || at > sizeof arena - bytes - 16)
    return 0;
  *(size_t *)(arena + at) = bytes;
  return arena + at + 16;
}

void free(void *pointer) {
  if (pointer)
    __atomic_fetch_add(&freed, 1, __ATOMIC_RELAXED);
}
#pragma omp end declare target

void *calloc(size_t count, size_t bytes) { return malloc(count * bytes); }

void *realloc(void *pointer, size_t bytes) {
  void *other = malloc(bytes);
  size_t old = pointer ? *(size_t *)((char *)pointer - 16) : 0;
  return other ? memcpy(other, pointer, old < bytes ? old : bytes) : 0;
}

int main(void) {
  int outside = 0;
  unsigned long frees = 0;
#pragma omp target map(tofrom : outside, frees)
  {
    char *volatile one = malloc(1000), *volatile two = malloc(1000);
    outside = one < arena || two < one + 1000 || two + 1000 > arena + sizeof arena;
    free(one);
    free(two);
    frees = freed;
  }
  CHECK(!outside, "memory that is not the program's own malloc's");
  CHECK(frees >= 2, "the program's own free was called %lu times", frees);
  return 0;
}
