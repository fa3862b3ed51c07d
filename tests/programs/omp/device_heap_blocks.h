/* Blocks of many sizes, mostly small, whose words tell which block and round they belong to. */
#include <stddef.h>
#include <stdlib.h>

#pragma omp declare target
static inline size_t words_of(int block, int round) {
  unsigned mixed = (unsigned)(block * 7919 + round * 104729);
  return 1 + mixed % 13 * (mixed % 5 == 0 ? 40 : 3);
}

static inline unsigned word(int block, int round, size_t i) {
  return (unsigned)(block * 1000003 + round) ^ (unsigned)i;
}

/* A new block, or null. */
static inline unsigned *filled(int block, int round) {
  size_t words = words_of(block, round);
  unsigned *memory = malloc(words * sizeof *memory);
  for (size_t i = 0; memory && i < words; i++)
    memory[i] = word(block, round, i);
  return memory;
}

static inline int is_whole(const unsigned *memory, int block, int round) {
  for (size_t i = 0; i < words_of(block, round); i++)
    if (memory[i] != word(block, round, i))
      return 0;
  return 1;
}
#pragma omp end declare target
