/* malloc and free of device code: what newlib's __nvptx_malloc and __nvptx_free call in place of the CUDA driver's, whose calls
   wait for one another.

   The heap has two extents of memory (plugin/memory/heap.rs): a small one of the device's own, and a large one of managed memory, which
   takes memory of the device as its pages are first touched. So the heap grows while kernels run, and the host has no part in it. The
   second is used where the first has no room, and there may be none. What neither has room for, the driver's malloc may have.

   An extent is in pages of one size. A page is free, or has blocks of one size, or is the first of a run that is one large block,
   or belongs to such a run. So free pages next to each other are a free run, and nothing has to be joined.

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

/* What the head of the heap takes (plugin/memory/heap.rs).  */
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

/* The head of an extent.  */
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

struct extent
{
  uint64_t head; /* a struct heap; 0 if there is no such extent */
  uint64_t bitmaps; /* that of page 0; a page has a bit for each of its blocks */
  uint64_t memory; /* where page 0 begins */
  uint32_t pages;
  uint32_t page_shift; /* a page has 2^page_shift bytes */
  uint32_t bitmap_shift; /* and a bitmap of 2^bitmap_shift: no more blocks than it has bits */
  uint32_t arenas; /* a power of 2 */
};

/* Where the heap is. The plugin sets it before kernels run; all zero if there is no heap. In constant memory, whose caches answer
   sooner than those of the rest.  */
struct place
{
  struct extent extents[2];
  uint32_t checks; /* whether to trap when something is freed that isn't in use, or was written past */
  uint32_t unused;
};

_Static_assert (sizeof (struct place) == 88, "plugin/memory/heap.rs writes it");

__attribute__ ((address_space (4))) struct place place __asm__ ("__boomerang_heap");

typedef const __attribute__ ((address_space (4))) struct extent constant_extent;

/* For what is fast in the first extent, since there its members are constants at known addresses.  */
#define inlined inline __attribute__ ((always_inline))

static inlined struct heap *
head (constant_extent *extent)
{
  return (struct heap *) extent->head;
}

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
static inlined uint32_t
capacity (constant_extent *extent, uint32_t class)
{
  uint32_t fit = (1u << extent->page_shift) / class_bytes (class), bits = 8u << extent->bitmap_shift;
  return fit < bits ? fit : bits;
}

static inline int
is_of_class (uint32_t state, uint32_t class)
{
  return state >> CLASS_SHIFT == class + 1;
}

static inlined uint32_t *
bitmap (constant_extent *extent, uint32_t page)
{
  return (uint32_t *) (extent->bitmaps + ((uint64_t) page << extent->bitmap_shift));
}

static inlined uint32_t
this_arena (constant_extent *extent)
{
  uint32_t multiprocessor, warp, lane;
  asm ("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  asm ("mov.u32 %0, %%tid.y;" : "=r"(warp));
  asm ("mov.u32 %0, %%laneid;" : "=r"(lane));
  return (8 * multiprocessor + warp + 37 * lane) & (extent->arenas - 1);
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
static inlined void
count_taken (constant_extent *extent, uint32_t pages)
{
  max_relaxed_gpu_u32 (&head (extent)->peak, fetch_add_relaxed_gpu_u32 (&head (extent)->used, pages) + pages);
}

/* Takes the pages from `first` on, and before `end`, if all are free.  */
static inline int
claim_run (constant_extent *extent, uint32_t first, uint32_t end)
{
  for (uint32_t at = first; at < end; at = (at / 32 + 1) * 32)
    {
      uint32_t *word = &head (extent)->free_pages.words[at / 32], bits = run_bits (at, end);
      uint32_t seen = load_relaxed_sys_u32 (word), found;
      while ((seen & bits) == bits && (found = compare_exchange_relaxed_gpu_u32 (word, seen, seen & ~bits)) != seen)
	seen = found;
      if ((seen & bits) != bits)
	{
	  set_add_run (&head (extent)->free_pages, first, at);
	  return 0;
	}
    }
  return 1;
}

/* Takes `count` free pages in a row, the last such: the first's number, or NONE.  */
static uint32_t
take_run (constant_extent *extent, uint32_t count)
{
  if (count > extent->pages - load_relaxed_sys_u32 (&head (extent)->used))
    return NONE;
  uint32_t first = extent->pages, free_pages = 0, bits = 0;
  while (first > 0)
    {
      if (first % 32 == 0 || free_pages == 0)
	bits = load_relaxed_sys_u32 (&head (extent)->free_pages.words[(first - 1) / 32]);
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
	  if (claim_run (extent, first, first + count))
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
give_pages (constant_extent *extent, uint32_t first, uint32_t count)
{
  fetch_add_relaxed_gpu_u32 (&head (extent)->used, -count);
  /* Release: pairs with the fence behind `set_take` and `take_run`. What was done with the pages, and their state, come before what
     their taker does.  */
  fence_gpu ();
  set_add_run (&head (extent)->free_pages, first, first + count);
}

/* Reserves one of a page's blocks if it is of this class and has any: the number of those that were before it, or NONE.  */
static inlined uint32_t
reserve (constant_extent *extent, uint32_t page, uint32_t class)
{
  uint32_t seen = load_relaxed_sys_u32 (&head (extent)->states[page]), found;
  while (is_of_class (seen, class) && (seen & COUNT_MASK) < capacity (extent, class))
    {
      found = compare_exchange_relaxed_gpu_u32 (&head (extent)->states[page], seen, seen + 1);
      if (found == seen)
	return seen & COUNT_MASK;
      seen = found;
    }
  return NONE;
}

/* Takes a block that was reserved, best the one of this number. A bit is cleared before its block is counted as free, so there is a
   clear bit for each that has reserved one.  */
static inlined uint64_t
take_reserved (constant_extent *extent, uint32_t page, uint32_t class, uint32_t number)
{
  uint32_t blocks = capacity (extent, class);
  uint32_t word = number / 32, bit = number % 32;
  for (;;)
    {
      uint32_t exist = blocks - 32 * word >= 32 ? 0xffffffff : (1u << blocks % 32) - 1;
      uint32_t *bits = &bitmap (extent, page)[word];
      uint32_t seen = fetch_or_relaxed_gpu_u32 (bits, 1u << bit);
      if ((seen >> bit & 1) == 0)
	break;
      while ((seen & exist) == exist)
	{
	  word = 32 * (word + 1) < blocks ? word + 1 : 0;
	  exist = blocks - 32 * word >= 32 ? 0xffffffff : (1u << blocks % 32) - 1;
	  seen = load_relaxed_sys_u32 (&bitmap (extent, page)[word]);
	}
      bit = (uint32_t) __builtin_ctz (~seen & exist);
    }
  /* Acquire: pairs with the first fence of `free_block`.  */
  fence_gpu ();
  return extent->memory + ((uint64_t) page << extent->page_shift) + (32 * word + bit) * class_bytes (class);
}

/* Makes a page that was taken, if one was, one of a class, with one block reserved.  */
static inline void
bring_into_use (constant_extent *extent, uint32_t page, uint32_t class)
{
  if (page == NONE)
    return;
  count_taken (extent, 1);
  /* Acquire: pairs with the fence of `give_pages`. Nobody but us changes a state of 0.  */
  fence_gpu ();
  store_relaxed_u32 (&head (extent)->states[page], (class + 1) << CLASS_SHIFT | 1);
}

/* Puts pages that have blocks of a class, and none in use, among the free ones.  */
static __attribute__ ((noinline)) void
reclaim (constant_extent *extent)
{
  for (uint32_t page = 0; page < extent->pages; page++)
    {
      uint32_t seen = load_relaxed_sys_u32 (&head (extent)->states[page]);
      if (seen != 0 && (seen & (LARGE | COUNT_MASK)) == 0
	  && compare_exchange_relaxed_gpu_u32 (&head (extent)->states[page], seen, 0) == seen)
	give_pages (extent, page, 1);
    }
}

/* A page, and the number of the block that is reserved in it.  */
struct reserved
{
  uint32_t page;
  uint32_t number;
};

/* Whether an extent may have a page that is free or has room again. Of an extent that is full this is asked for each block that the
   other one gives, so all loads are under way at once.  */
static inline int
may_have_page (constant_extent *extent, uint32_t class)
{
  uint32_t any = load_relaxed_sys_u32 (&head (extent)->used) < extent->pages;
  for (uint32_t part = 0; part < PAGES / 32 / 32; part++)
    any |= load_relaxed_sys_u32 (&head (extent)->room[class].summary[part]);
  return any != 0;
}

/* Finds another page for an arena, or NONE: one that has room again, or a free one.  */
static inline struct reserved
next_page (constant_extent *extent, uint32_t arena, uint32_t class)
{
  struct reserved found = { NONE, 0 };
  if (!may_have_page (extent, class))
    return found;
  while ((found.page = set_take (&head (extent)->room[class], arena)) != NONE)
    if ((found.number = reserve (extent, found.page, class)) != NONE)
      return found;
  found.number = 0;
  found.page = set_take (&head (extent)->free_pages, arena);
  bring_into_use (extent, found.page, class);
  return found;
}

/* Finds any page, or NONE: one that other arenas take blocks from, or that was kept for another class.  */
static inline struct reserved
any_page (constant_extent *extent, uint32_t class)
{
  struct reserved found = { NONE, 0 };
  for (found.page = 0; found.page < extent->pages; found.page++)
    if ((found.number = reserve (extent, found.page, class)) != NONE)
      return found;
  reclaim (extent);
  found.number = 0;
  found.page = take_run (extent, 1);
  bring_into_use (extent, found.page, class);
  return found;
}

/* A block of a class from another page than the one that the arena had, which was `seen`, or 0.  */
static __attribute__ ((noinline)) uint64_t
take_from_another_page (constant_extent *extent, uint32_t class, uint32_t seen, int thoroughly)
{
  uint32_t arena = this_arena (extent);
  struct reserved taken = thoroughly ? any_page (extent, class) : next_page (extent, arena, class);
  if (taken.page == NONE)
    return 0;
  if (compare_exchange_relaxed_gpu_u32 (&head (extent)->current[arena][class], seen, taken.page + 1) != seen)
    /* Another thread of the arena has found a page meanwhile.  */
    set_add (&head (extent)->room[class], taken.page);
  return take_reserved (extent, taken.page, class, taken.number);
}

/* A block of a class, or 0.  */
static inlined uint64_t
take_block (constant_extent *extent, uint32_t class, int thoroughly)
{
  uint32_t seen = load_relaxed_sys_u32 (&head (extent)->current[this_arena (extent)][class]);
  uint32_t number = seen != 0 ? reserve (extent, seen - 1, class) : NONE;
  return number != NONE ? take_reserved (extent, seen - 1, class, number)
			: take_from_another_page (extent, class, seen, thoroughly);
}

/* A block of whole pages, or 0.  */
static __attribute__ ((noinline)) uint64_t
take_large (constant_extent *extent, uint64_t bytes, int thoroughly)
{
  if (bytes > (uint64_t) extent->pages << extent->page_shift)
    return 0;
  uint32_t count = (uint32_t) ((bytes - 1) >> extent->page_shift) + 1;
  if (thoroughly)
    reclaim (extent);
  uint32_t first = take_run (extent, count);
  if (first == NONE)
    return 0;
  count_taken (extent, count);
  /* Acquire: pairs with the fence of `give_pages`.  */
  fence_gpu ();
  store_relaxed_u32 (&head (extent)->states[first], LARGE | count);
  return extent->memory + ((uint64_t) first << extent->page_shift);
}

/* A block of an extent, or 0. Thoroughly: not until it was looked for in all places.  */
static inlined uint64_t
take (constant_extent *extent, uint64_t bytes, int thoroughly)
{
  return bytes <= 1u << (extent->page_shift - 1) ? take_block (extent, class_for ((uint32_t) bytes), thoroughly)
						  : take_large (extent, bytes, thoroughly);
}

/* What a block's owner gets of it.  */
static inlined void *
owned (uint64_t block)
{
  if (place.checks)
    *(uint64_t *) block = CANARY ^ block;
  return (char *) block + PREFIX;
}

/* malloc from an extent: null if it has no room. A function of its own, that what calls it keeps little in registers.  */
static __attribute__ ((noinline)) void *
malloc_from (constant_extent *extent, size_t bytes, int thoroughly)
{
  uint64_t block = take (extent, bytes + PREFIX, thoroughly);
  return block != 0 ? owned (block) : 0;
}

/* malloc where the first extent has no room at once. An extent is searched thoroughly, which takes long, only when the other has
   none either.  */
static __attribute__ ((noinline)) void *
malloc_elsewhere (size_t bytes)
{
  void *pointer = place.extents[1].head != 0 ? malloc_from (&place.extents[1], bytes, 0) : 0;
  if (pointer == 0)
    pointer = malloc_from (&place.extents[0], bytes, 1);
  if (pointer == 0 && place.extents[1].head != 0)
    pointer = malloc_from (&place.extents[1], bytes, 1);
  if (pointer != 0)
    return pointer;
  fetch_add_relaxed_gpu_u32 (&head (&place.extents[0])->refused, 1);
  return malloc (bytes);
}

/* Gives back the block that begins `offset` bytes into the pages, if one does that is in use: whether it was.  */
static inlined int
free_block (constant_extent *extent, uint64_t offset)
{
  uint32_t page = (uint32_t) (offset >> extent->page_shift);
  uint32_t in_page = (uint32_t) offset & ((1u << extent->page_shift) - 1);
  uint32_t *state = &head (extent)->states[page];
  uint32_t seen = load_relaxed_sys_u32 (state), found;
  if (seen & LARGE)
    {
      /* Of several threads that free one block, one does.  */
      if (in_page != 0 || compare_exchange_relaxed_gpu_u32 (state, seen, 0) != seen)
	return 0;
      give_pages (extent, page, seen & ~LARGE);
      return 1;
    }
  if (seen == 0)
    return 0;
  uint32_t class = (seen >> CLASS_SHIFT) - 1, block = in_page / class_bytes (class);
  if (block * class_bytes (class) != in_page || block >= capacity (extent, class))
    return 0;
  /* A hint, and looked at as soon as it can be.  */
  uint32_t current = load_relaxed_sys_u32 (&head (extent)->current[this_arena (extent)][class]);
  /* Release: pairs with the fence of `take_reserved`. What was done with the block comes before what its next owner does.  */
  fence_gpu ();
  if ((fetch_and_relaxed_gpu_u32 (&bitmap (extent, page)[block / 32], ~(1u << block % 32)) >> block % 32 & 1) == 0)
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
    give_pages (extent, page, 1);
  else if ((seen & COUNT_MASK) == capacity (extent, class) && current != page + 1)
    set_add (&head (extent)->room[class], page);
  return 1;
}

/* Gives back a block of an extent.  */
static inlined void
give (constant_extent *extent, uint64_t block)
{
  if (place.checks && (block % 16 != 0 || *(uint64_t *) block != (CANARY ^ block)))
    __builtin_trap ();
  if (!free_block (extent, block - extent->memory) && place.checks)
    __builtin_trap ();
}

static inlined int
has (constant_extent *extent, uint64_t block)
{
  return block - extent->memory < (uint64_t) extent->pages << extent->page_shift;
}

/* Gives back a block that is not the first extent's.  */
static __attribute__ ((noinline)) void
give_elsewhere (uint64_t block)
{
  constant_extent *second = &place.extents[1];
  if (has (second, block))
    give (second, block);
  else
    free ((char *) block + PREFIX);
}

/* `bytes` counts the 8 of newlib's.  */
void *
__boomerang_malloc (size_t bytes)
{
  /* newlib's sum has overflowed, or is so large that that of the driver's malloc would, which then has a block of few bytes (on an
     H200).  */
  if (bytes < 8 || bytes >> 48 != 0)
    return 0;
  constant_extent *first = &place.extents[0];
  if (first->head == 0)
    return malloc (bytes);
  uint64_t block = take (first, bytes + PREFIX, 0);
  return block != 0 ? owned (block) : malloc_elsewhere (bytes);
}

void
__boomerang_free (void *pointer)
{
  uint64_t block = (uint64_t) pointer - PREFIX;
  if (has (&place.extents[0], block))
    give (&place.extents[0], block);
  else
    give_elsewhere (block);
}
