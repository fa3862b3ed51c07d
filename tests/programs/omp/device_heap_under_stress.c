// boomerang: checks: threads of many teams that exchange blocks of all sizes, and free those of others, never find one that another has, whatever the order of warps
// boomerang: plugins: ours
// boomerang: env: GOMP_DEBUG=1 BOOMERANG_HEAP=1048576 BOOMERANG_HEAP_CHECK=1
// boomerang: seeds: 20
// boomerang: stderr: has not freed 0 blocks
#include <omp.h>
#include <stdint.h>

#include "../check.h"

enum { PLACES = 24, STEPS = 40 };

#pragma omp declare target
static uintptr_t places[PLACES];

static unsigned next(unsigned *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

/* The first word of a block is its size in words; what follows is made of its address. */
static unsigned filled(unsigned *block, unsigned words) {
  block[0] = words;
  for (unsigned i = 1; i < words; i++)
    block[i] = (unsigned)(uintptr_t)block ^ i;
  return words;
}

static int is_whole(const unsigned *block) {
  for (unsigned i = 1; i < block[0]; i++)
    if (block[i] != ((unsigned)(uintptr_t)block ^ i))
      return 0;
  return 1;
}

/* Puts a block into a place, and frees what was there. */
static int exchange(unsigned *block, unsigned place) {
  uintptr_t other = __atomic_exchange_n(&places[place], (uintptr_t)block, __ATOMIC_ACQ_REL);
  int wrong = other && !is_whole((unsigned *)other);
  free((void *)other);
  return wrong;
}

static unsigned some_words(unsigned random) {
  switch (random % 16) {
  case 0:
    return 20000; /* several pages */
  case 1:
    return 3000;
  case 2:
    return 1;
  default:
    return 1 + random / 16 % 250;
  }
}
#pragma omp end declare target

int main(void) {
  int wrong = 0;
#pragma omp target teams num_teams(6) thread_limit(4) map(tofrom : wrong) reduction(+ : wrong)
  {
    wrong = 0;
#pragma omp parallel num_threads(4) reduction(+ : wrong)
    {
      unsigned state = (unsigned)(omp_get_team_num() * 131 + omp_get_thread_num() * 17 + 1);
      for (int step = 0; step < STEPS; step++) {
        unsigned words = some_words(next(&state));
        unsigned *block = malloc(words * sizeof *block);
        if (block && filled(block, words))
          wrong += exchange(block, next(&state) % PLACES);
      }
    }
  }
  CHECK(wrong == 0, "%d blocks were overwritten", wrong);
  /* The lanes of a warp as well, each for itself. */
#pragma omp target parallel num_threads(2) map(tofrom : wrong)
#pragma omp for simd reduction(+ : wrong)
  for (int i = 0; i < 256; i++) {
    unsigned state = (unsigned)i, words = some_words(next(&state)) % 3000 + 1;
    unsigned *block = malloc(words * sizeof *block);
    if (block && filled(block, words))
      wrong += exchange(block, next(&state) % PLACES);
  }
  CHECK(wrong == 0, "lanes found %d blocks overwritten", wrong);
#pragma omp target map(tofrom : wrong)
  for (int place = 0; place < PLACES; place++)
    wrong += exchange(NULL, (unsigned)place);
  CHECK(wrong == 0, "%d blocks were overwritten at last", wrong);
  return 0;
}
