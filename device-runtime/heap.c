/* malloc and free of device code: what newlib's __nvptx_malloc and __nvptx_free call in place of the CUDA driver's, whose calls
   wait for one another.

   The heap is a piece of the plugin's memory (plugin/image/heap.rs) in pages of one size. A page is free, or has blocks of one
   size, or is the first of a run that is one large block, or belongs to such a run. So free pages next to each other are a free
   run, and nothing has to be joined. What the heap has no room for, the driver's malloc may have.

   A thread takes blocks from the page that its arena has for their size, and looks for another page when that is full: one that
   has room again, then a free one, at last any. An arena is a share of the multiprocessors, warps and lanes.

   Blocks have no headers: which are in use is told by a bitmap for each page, so device code that writes past its own cannot harm the
   heap, and a free of what isn't in use is noticed.

   Nothing waits for another thread. Each change is one atomic operation on one word; where it fails, another thread's has
   succeeded. Warps need not run at the same time. So a request may find no room while another thread is about to bring a page into
   use, or to give up a run that it could not get as a whole. tests/loom_heap.rs is a model of this file, by the same names.  */

#include <stddef.h>

#include "sys_atomics.h"

extern void *malloc (size_t);
extern void free (void *);

/* What the head of the heap takes (plugin/image/heap.rs).  */
#define HEAP_HEAD_BYTES 131072
/* The most pages. The plugin makes them larger for a large heap.  */
#define PAGES 4096
#define ARENAS 256
/* Blocks have from 32 bytes to half a page, of 2^24 bytes at most.  */
#define CLASSES 71
#define LEAST_BLOCK 32

/* No page, or no block of one.  */
#define NONE 0xffffffff

/* Pages. A bit of the summary is set where its word may have any; it may be missing for a moment while one is added.  */
struct set
{
  uint32_t summary[PAGES / 32 / 32];
  uint32_t words[PAGES / 32];
};

struct heap
{
  /* The plugin reads these: pages in use, the most so far, requests that there was no room for.  */
  uint32_t used;
  uint32_t peak;
  uint32_t refused;
  uint32_t unused;
  /* Of each page one of the states below.  */
  uint32_t states[PAGES];
  struct set free_pages;
  /* For each class, pages that were full and have room again.  */
  struct set room[CLASSES];
  /* The number of the page, plus 1, that an arena takes blocks of a class from. It may be of no use any more.  */
  uint32_t current[ARENAS][CLASSES];
};

_Static_assert (sizeof (struct heap) <= HEAP_HEAD_BYTES, "the head has room");
_Static_assert (offsetof (struct heap, used) == 0 && offsetof (struct heap, peak) == 4
		  && offsetof (struct heap, refused) == 8 && offsetof (struct heap, states) == 16
		  && offsetof (struct heap, free_pages) == 16 + 4 * PAGES,
		"the head begins as plugin/memory/heap.rs has it");

/* Where the heap is and how large. The plugin sets it before kernels run; all zero if there is no heap. In constant memory, whose
   caches answer sooner than those of the rest.  */
struct place
{
  uint64_t head; /* a struct heap */
  uint64_t bitmaps; /* that of page 0; each page has a bit for each LEAST_BLOCK bytes */
  uint64_t memory; /* where page 0 begins */
  uint32_t pages;
  uint32_t page_shift; /* a page has 2^page_shift bytes */
  uint32_t arenas; /* a power of 2 */
  uint32_t checks; /* whether to trap when something is freed that isn't in use, or was written past */
};

_Static_assert (sizeof (struct place) == 40, "plugin/memory/heap.rs writes it");

__attribute__ ((address_space (4))) struct place place __asm__ ("__boomerang_heap");

#define heap ((struct heap *) place.head)

/* A page's state: 0 if it is free or not the first of a run; LARGE and the run's number of pages; or a class plus 1, and how many of
   the blocks are in use or about to be.  */
#define LARGE 0x80000000
#define CLASS_SHIFT 20
#define COUNT_MASK 0xfffff

/* Stands in front of a block where `checks` is set.  */
#define CANARY 0x6d6f6f6265206568

/* newlib puts 8 bytes in front of what its callers get. With these 8 more they get multiples of 16.  */
#define PREFIX 8

/* Four classes to each power of two.  */
static inline uint32_t
class_bytes (uint32_t class)
{
  if (class < 3)
    return LEAST_BLOCK + 16 * class;
  uint32_t doubling = (class - 3) / 4, step = (class - 3) % 4 + 1;
  return (4 + step) << (doubling + 4);
}

/* The least class whose blocks have `bytes` bytes.  */
static inline uint32_t
class_for (uint32_t bytes)
{
  if (bytes <= 64)
    return bytes <= LEAST_BLOCK ? 0 : (bytes - 17) / 16;
  uint32_t doubling = 31 - (uint32_t) __builtin_clz (bytes - 1) - 6;
  uint32_t step = ((bytes - 1) >> (doubling + 4)) - 4;
  return 3 + 4 * doubling + step;
}

/* How many blocks of a class a page has.  */
static inline uint32_t
capacity (uint32_t class)
{
  return (1u << place.page_shift) / class_bytes (class);
}

static inline int
is_of_class (uint32_t state, uint32_t class)
{
  return state >> CLASS_SHIFT == class + 1;
}

static inline uint32_t *
bitmap (uint32_t page)
{
  return (uint32_t *) (place.bitmaps + ((uint64_t) page << (place.page_shift - 8)));
}

static inline uint32_t
this_arena (void)
{
  uint32_t multiprocessor, warp, lane;
  asm ("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  asm ("mov.u32 %0, %%tid.y;" : "=r"(warp));
  asm ("mov.u32 %0, %%laneid;" : "=r"(lane));
  return (8 * multiprocessor + warp + 37 * lane) & (place.arenas - 1);
}

/* Adds the pages of a word that `bits` names.  */
static inline void
set_add_bits (struct set *set, uint32_t word, uint32_t bits)
{
  if (fetch_or_relaxed_gpu_u32 (&set->words[word], bits) == 0)
    {
      /* Pairs with the fence of `set_take`: who clears the summary's bit after we set it sees the word's.  */
      fence_gpu ();
      fetch_or_relaxed_gpu_u32 (&set->summary[word / 32], 1u << word % 32);
    }
}

static inline void
set_add (struct set *set, uint32_t page)
{
  set_add_bits (set, page / 32, 1u << page % 32);
}

/* The bits of the pages from `at` on, and before `end`, in the word of `at`.  */
static inline uint32_t
run_bits (uint32_t at, uint32_t end)
{
  uint32_t bits = 0xffffffff << at % 32;
  return end / 32 == at / 32 ? bits & ~(0xffffffff << end % 32) : bits;
}

static inline void
set_add_run (struct set *set, uint32_t first, uint32_t end)
{
  for (uint32_t at = first; at < end; at = (at / 32 + 1) * 32)
    set_add_bits (set, at / 32, run_bits (at, end));
}

/* Takes a page out of a set: its number, or NONE. Threads with different seeds go for different pages.  */
static uint32_t
set_take (struct set *set, uint32_t seed)
{
  for (uint32_t part = 0; part < PAGES / 32 / 32; part++)
    for (uint32_t words = load_relaxed_sys_u32 (&set->summary[part]); words != 0; words &= words - 1)
      {
	uint32_t word = 32 * part + (uint32_t) __builtin_ctz (words);
	uint32_t pages = load_relaxed_sys_u32 (&set->words[word]);
	while (pages != 0)
	  {
	    uint32_t from_seed = pages >> seed % 32 << seed % 32;
	    uint32_t bit = (uint32_t) __builtin_ctz (from_seed != 0 ? from_seed : pages);
	    pages = fetch_and_relaxed_gpu_u32 (&set->words[word], ~(1u << bit));
	    if (pages >> bit & 1)
	      return 32 * word + bit;
	  }
	fetch_and_relaxed_gpu_u32 (&set->summary[part], ~(words & -words));
	/* A page that was added before the bit went: the bit comes back.  */
	fence_gpu ();
	if (load_relaxed_sys_u32 (&set->words[word]) != 0)
	  fetch_or_relaxed_gpu_u32 (&set->summary[part], words & -words);
      }
  return NONE;
}

/* Counts pages that were taken.  */
static inline void
count_taken (uint32_t pages)
{
  max_relaxed_gpu_u32 (&heap->peak, fetch_add_relaxed_gpu_u32 (&heap->used, pages) + pages);
}

/* Takes the pages from `first` on, and before `end`, if all are free.  */
static inline int
claim_run (uint32_t first, uint32_t end)
{
  for (uint32_t at = first; at < end; at = (at / 32 + 1) * 32)
    {
      uint32_t *word = &heap->free_pages.words[at / 32], bits = run_bits (at, end);
      uint32_t seen = load_relaxed_sys_u32 (word), found;
      while ((seen & bits) == bits && (found = compare_exchange_relaxed_gpu_u32 (word, seen, seen & ~bits)) != seen)
	seen = found;
      if ((seen & bits) != bits)
	{
	  set_add_run (&heap->free_pages, first, at);
	  return 0;
	}
    }
  return 1;
}

/* Takes `count` free pages in a row, the last such: the first's number, or NONE.  */
static uint32_t
take_run (uint32_t count)
{
  uint32_t first = place.pages, free_pages = 0, bits = 0;
  while (first > 0)
    {
      if (first % 32 == 0 || free_pages == 0)
	bits = load_relaxed_sys_u32 (&heap->free_pages.words[(first - 1) / 32]);
      first--;
      if ((bits >> first % 32 & 1) == 0)
	{
	  free_pages = 0;
	  if (bits == 0)
	    first -= first % 32;
	  continue;
	}
      free_pages++;
      if (free_pages == count)
	{
	  if (claim_run (first, first + count))
	    return first;
	  /* Another thread was faster: once more with what is there now.  */
	  first += count;
	  free_pages = 0;
	}
    }
  return NONE;
}

/* Puts pages that are in no use any more among the free ones.  */
static void
give_pages (uint32_t first, uint32_t count)
{
  fetch_add_relaxed_gpu_u32 (&heap->used, -count);
  /* Release: pairs with the fence behind `set_take` and `take_run`. What was done with the pages, and their state, come before what
     their taker does.  */
  fence_gpu ();
  set_add_run (&heap->free_pages, first, first + count);
}

/* Reserves one of a page's blocks if it is of this class and has any: the number of those that were before it, or NONE.  */
static inline uint32_t
reserve (uint32_t page, uint32_t class)
{
  uint32_t seen = load_relaxed_sys_u32 (&heap->states[page]), found;
  while (is_of_class (seen, class) && (seen & COUNT_MASK) < capacity (class))
    {
      found = compare_exchange_relaxed_gpu_u32 (&heap->states[page], seen, seen + 1);
      if (found == seen)
	return seen & COUNT_MASK;
      seen = found;
    }
  return NONE;
}

/* Takes a block that was reserved, best the one of this number. A bit is cleared before its block is counted as free, so there is a
   clear bit for each that has reserved one.  */
static inline uint64_t
take_reserved (uint32_t page, uint32_t class, uint32_t number)
{
  uint32_t blocks = capacity (class);
  uint32_t word = number / 32, bit = number % 32;
  for (;;)
    {
      uint32_t exist = blocks - 32 * word >= 32 ? 0xffffffff : (1u << blocks % 32) - 1;
      uint32_t *bits = &bitmap (page)[word];
      uint32_t seen = fetch_or_relaxed_gpu_u32 (bits, 1u << bit);
      if ((seen >> bit & 1) == 0)
	break;
      while ((seen & exist) == exist)
	{
	  word = 32 * (word + 1) < blocks ? word + 1 : 0;
	  exist = blocks - 32 * word >= 32 ? 0xffffffff : (1u << blocks % 32) - 1;
	  seen = load_relaxed_sys_u32 (&bitmap (page)[word]);
	}
      bit = (uint32_t) __builtin_ctz (~seen & exist);
    }
  /* Acquire: pairs with the first fence of `free_block`.  */
  fence_gpu ();
  return place.memory + ((uint64_t) page << place.page_shift) + (32 * word + bit) * class_bytes (class);
}

/* Makes a free page one of a class: its number, with one block reserved, or NONE.  */
static uint32_t
take_page (uint32_t arena, uint32_t class, int thoroughly)
{
  uint32_t page = thoroughly ? take_run (1) : set_take (&heap->free_pages, arena);
  if (page != NONE)
    {
      count_taken (1);
      /* Acquire: pairs with the fence of `give_pages`. Nobody but us changes a state of 0.  */
      fence_gpu ();
      store_relaxed_u32 (&heap->states[page], (class + 1) << CLASS_SHIFT | 1);
    }
  return page;
}

/* Puts pages that have blocks of a class, and none in use, among the free ones.  */
static __attribute__ ((noinline)) void
reclaim (void)
{
  for (uint32_t page = 0; page < place.pages; page++)
    {
      uint32_t seen = load_relaxed_sys_u32 (&heap->states[page]);
      if (seen != 0 && (seen & (LARGE | COUNT_MASK)) == 0
	  && compare_exchange_relaxed_gpu_u32 (&heap->states[page], seen, 0) == seen)
	give_pages (page, 1);
    }
}

/* A page, and the number of the block that is reserved in it.  */
struct reserved
{
  uint32_t page;
  uint32_t number;
};

/* Finds another page for an arena, or NONE.  */
static __attribute__ ((noinline)) struct reserved
next_page (uint32_t arena, uint32_t class)
{
  struct reserved found = { NONE, 0 };
  while ((found.page = set_take (&heap->room[class], arena)) != NONE)
    if ((found.number = reserve (found.page, class)) != NONE)
      return found;
  found.number = 0;
  found.page = take_page (arena, class, 0);
  if (found.page != NONE)
    return found;
  for (found.page = 0; found.page < place.pages; found.page++)
    if ((found.number = reserve (found.page, class)) != NONE)
      return found;
  reclaim ();
  found.number = 0;
  found.page = take_page (arena, class, 1);
  return found;
}

/* A block of a class, or 0.  */
static inline uint64_t
take_block (uint32_t class)
{
  uint32_t arena = this_arena ();
  uint32_t *current = &heap->current[arena][class];
  uint32_t seen = load_relaxed_sys_u32 (current);
  struct reserved taken = { seen - 1, seen != 0 ? reserve (seen - 1, class) : NONE };
  if (taken.number == NONE)
    {
      taken = next_page (arena, class);
      if (taken.page == NONE)
	return 0;
      if (compare_exchange_relaxed_gpu_u32 (current, seen, taken.page + 1) != seen)
	/* Another thread of the arena has found a page meanwhile.  */
	set_add (&heap->room[class], taken.page);
    }
  return take_reserved (taken.page, class, taken.number);
}

/* A block of whole pages, or 0.  */
static __attribute__ ((noinline)) uint64_t
take_large (uint64_t bytes)
{
  uint32_t count = (uint32_t) ((bytes - 1) >> place.page_shift) + 1;
  uint32_t first = take_run (count);
  if (first == NONE)
    {
      reclaim ();
      first = take_run (count);
      if (first == NONE)
	return 0;
    }
  count_taken (count);
  /* Acquire: pairs with the fence of `give_pages`.  */
  fence_gpu ();
  store_relaxed_u32 (&heap->states[first], LARGE | count);
  return place.memory + ((uint64_t) first << place.page_shift);
}

/* Gives back the block that begins `offset` bytes into the pages, if one does that is in use: whether it was.  */
static inline int
free_block (uint64_t offset)
{
  uint32_t page = (uint32_t) (offset >> place.page_shift);
  uint32_t in_page = (uint32_t) offset & ((1u << place.page_shift) - 1);
  uint32_t *state = &heap->states[page];
  uint32_t seen = load_relaxed_sys_u32 (state), found;
  if (seen & LARGE)
    {
      /* Of several threads that free one block, one does.  */
      if (in_page != 0 || compare_exchange_relaxed_gpu_u32 (state, seen, 0) != seen)
	return 0;
      give_pages (page, seen & ~LARGE);
      return 1;
    }
  if (seen == 0)
    return 0;
  uint32_t class = (seen >> CLASS_SHIFT) - 1, block = in_page / class_bytes (class);
  if (block * class_bytes (class) != in_page || block >= capacity (class))
    return 0;
  /* A hint, and looked at as soon as it can be.  */
  uint32_t current = load_relaxed_sys_u32 (&heap->current[this_arena ()][class]);
  /* Release: pairs with the fence of `take_reserved`. What was done with the block comes before what its next owner does.  */
  fence_gpu ();
  if ((fetch_and_relaxed_gpu_u32 (&bitmap (page)[block / 32], ~(1u << block % 32)) >> block % 32 & 1) == 0)
    return 0;
  /* The bit is clear before the block is counted as free: `take_reserved` and who takes the page after us rely on it.  */
  fence_gpu ();
  uint32_t left;
  for (;; seen = found)
    {
      left = (seen & COUNT_MASK) == 1 && current != page + 1 ? 0 : seen - 1;
      found = compare_exchange_relaxed_gpu_u32 (state, seen, left);
      if (found == seen)
	break;
    }
  if (left == 0)
    give_pages (page, 1);
  else if ((seen & COUNT_MASK) == capacity (class) && current != page + 1)
    set_add (&heap->room[class], page);
  return 1;
}

/* `bytes` counts the 8 of newlib's.  */
void *
__boomerang_malloc (size_t bytes)
{
  /* newlib's sum has overflowed, or is so large that that of the driver's malloc would, which then has a block of few bytes (on an
     H200).  */
  if (bytes < 8 || bytes >> 48 != 0)
    return 0;
  if (heap == 0 || bytes > (uint64_t) place.pages << place.page_shift)
    return malloc (bytes);
  uint64_t needed = bytes + PREFIX;
  uint64_t block = needed <= 1u << (place.page_shift - 1) ? take_block (class_for ((uint32_t) needed))
							   : take_large (needed);
  if (block == 0)
    {
      fetch_add_relaxed_gpu_u32 (&heap->refused, 1);
      return malloc (bytes);
    }
  if (place.checks)
    *(uint64_t *) block = CANARY ^ block;
  return (char *) block + PREFIX;
}

void
__boomerang_free (void *pointer)
{
  uint64_t block = (uint64_t) pointer - PREFIX;
  if (heap == 0 || block - place.memory >= (uint64_t) place.pages << place.page_shift)
    {
      free (pointer);
      return;
    }
  if (place.checks && (block % 16 != 0 || *(uint64_t *) block != (CANARY ^ block)))
    __builtin_trap ();
  if (!free_block (block - place.memory) && place.checks)
    __builtin_trap ();
}
