// boomerang: checks: calloc, realloc, omp_alloc, omp_calloc, omp_realloc and omp_aligned_alloc get right memory from the device heap, and low-latency memory stays what it is
// boomerang: env: GOMP_DEBUG=1 GOMP_NVPTX_LOWLAT_POOL=16384 BOOMERANG_HEAP_CHECK=1
// boomerang: variants: BOOMERANG_PTX_OPT=0 | BOOMERANG_HEAP=131072 | BOOMERANG_SIM_SEED=1
// boomerang: gcc: 14
#include <omp.h>
#include <stdint.h>
#include <string.h>

#include "../check.h"

#pragma omp declare target
static int is_filled(const unsigned char *memory, int value, size_t bytes) {
  for (size_t i = 0; i < bytes; i++)
    if (memory[i] != value)
      return 0;
  return 1;
}
#pragma omp end declare target

int main(void) {
  int wrong = 0;
#pragma omp target teams num_teams(4) thread_limit(4) map(tofrom : wrong)
#pragma omp parallel num_threads(4) reduction(| : wrong)
  for (int round = 0; round < 3; round++) {
    /* What the next block may be made of. */
    unsigned char *dirt = malloc(700);
    if (dirt)
      memset(dirt, 0xa5, 700);
    free(dirt);
    unsigned char *zeros = calloc(7, 100);
    wrong |= !zeros || !is_filled(zeros, 0, 700) ? 1 : 0;
    memset(zeros, 3, 700);
    zeros = realloc(zeros, 5000);
    wrong |= !zeros || !is_filled(zeros, 3, 700) ? 2 : 0;
    zeros = realloc(zeros, 20);
    wrong |= !zeros || !is_filled(zeros, 3, 20) ? 4 : 0;
    free(zeros);
    unsigned char *more = realloc(NULL, 40);
    wrong |= !more ? 8 : 0;
    free(more);
    unsigned char *of_omp = omp_alloc(300, omp_default_mem_alloc);
    memset(of_omp, 7, 300);
    of_omp = omp_realloc(of_omp, 900, omp_default_mem_alloc, omp_default_mem_alloc);
    wrong |= !of_omp || !is_filled(of_omp, 7, 300) ? 16 : 0;
    omp_free(of_omp, omp_default_mem_alloc);
    unsigned char *zeros_of_omp = omp_calloc(3, 100, omp_large_cap_mem_alloc);
    wrong |= !zeros_of_omp || !is_filled(zeros_of_omp, 0, 300) ? 32 : 0;
    omp_free(zeros_of_omp, omp_large_cap_mem_alloc);
    void *aligned = omp_aligned_alloc(256, 512, omp_default_mem_alloc);
    wrong |= !aligned || (uintptr_t)aligned % 256 != 0 ? 64 : 0;
    omp_free(aligned, omp_default_mem_alloc);
    int *low = omp_alloc(64, omp_cgroup_mem_alloc);
    if (low) {
      *low = round;
      wrong |= *low != round ? 128 : 0;
      omp_free(low, omp_cgroup_mem_alloc);
    }
    void *zero = malloc(0), *zero_again = malloc(0);
    wrong |= zero && zero == zero_again ? 256 : 0;
    free(zero);
    free(zero_again);
  }
  CHECK(wrong == 0, "wrong: %d", wrong);
  return 0;
}
