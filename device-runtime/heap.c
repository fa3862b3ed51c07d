/* malloc and free of device code: what newlib's __nvptx_malloc and __nvptx_free call in place of the CUDA driver's, whose calls
   wait for one another.

   The heap is one piece of memory of the plugin's (plugin/image/heap.rs). A block has one of the sizes of its class, four to each
   power of two, and is either in use or in a list of free blocks of its class. Each class has a list for each arena; a thread uses
   the arena of its place on the device. Fresh blocks come from the unused end of the heap. When there is none, any list of the
   class is looked in, and then those of larger blocks, which are cut. Blocks are never joined. What the heap has no room for, the
   driver's malloc may have.

   Nothing waits for another thread: the lists are stacks, and each change is one compare-and-exchange.  */

#include <stddef.h>

#include "sys_atomics.h"

extern void *malloc (size_t);
extern void free (void *);

/* What the head of the heap takes (plugin/image/heap.rs).  */
#define HEAP_HEAD_BYTES 65536
#define CLASSES 123
#define ARENAS 64
/* Offsets are counted in these.  */
#define UNIT 16
/* Larger blocks are taken from the unused end in a way that doesn't lose it to a request that it is too small for.  */
#define SMALL 4096

struct heap
{
  uint64_t bytes; /* of the whole heap */
  uint64_t used;  /* where the unused end begins; it may pass the heap's end by a few small blocks */
  uint32_t traps; /* whether to trap when something is freed that isn't in use */
  uint32_t unused;
  /* For each class and arena a bit: whether there may be something in the list.  */
  uint32_t filled[CLASSES][ARENAS / 32];
  /* Of each list, the first block's offset in units, 0 for none, in the low half; the high half counts the changes, so that a
     compare-and-exchange fails if the list has changed and its first block is the same again.  */
  uint64_t lists[ARENAS][CLASSES];
};

_Static_assert (sizeof (struct heap) <= HEAP_HEAD_BYTES, "the head has room");
/* The plugin writes these.  */
_Static_assert (offsetof (struct heap, bytes) == 0 && offsetof (struct heap, used) == 8
		  && offsetof (struct heap, traps) == 16,
		"the head begins as plugin/image/heap.rs has it");

/* At the start of each block.  */
struct block
{
  uint32_t state;
  uint16_t arena;
  uint16_t class;
  uint32_t next; /* in a list: the next one's offset in units. In use, this and what follows are the program's.  */
};

#define IN_USE 0x68656170
#define IS_FREE 0x66726565

/* What is in front of the program's part. newlib puts 8 bytes more there, so that its callers get multiples of 16.  */
#define PREFIX 8

/* The plugin sets it before kernels run; null if there is no heap.  */
__attribute__ ((address_space (1))) uint64_t __boomerang_heap;

static inline uint64_t
class_bytes (uint32_t class)
{
  if (class < 3)
    return 32 + 16 * class;
  uint32_t doubling = (class - 3) / 4, step = (class - 3) % 4 + 1;
  return (uint64_t) (4 + step) << (doubling + 4);
}

/* The least class whose blocks have `bytes` bytes, at most 2^36.  */
static inline uint32_t
class_for (uint64_t bytes)
{
  if (bytes <= 64)
    return bytes <= 32 ? 0 : (uint32_t) (bytes - 17) / 16;
  uint32_t doubling = 63 - (uint32_t) __builtin_clzll (bytes - 1) - 6;
  uint32_t step = (uint32_t) ((bytes - 1) >> (doubling + 4)) - 4;
  return 3 + 4 * doubling + step;
}

static inline uint32_t
this_arena (void)
{
  uint32_t multiprocessor, warp, lane;
  asm ("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  asm ("mov.u32 %0, %%tid.y;" : "=r"(warp));
  asm ("mov.u32 %0, %%laneid;" : "=r"(lane));
  return (multiprocessor + 9 * warp + lane) % ARENAS;
}

static inline struct block *
block_at (struct heap *heap, uint32_t units)
{
  return (struct block *) ((char *) heap + (uint64_t) units * UNIT);
}

/* Puts a block into a list.  */
static inline void
push (struct heap *heap, uint32_t arena, uint32_t class, uint32_t units)
{
  struct block *block = block_at (heap, units);
  uint64_t *list = &heap->lists[arena][class];
  uint64_t seen = load_relaxed_u64 (list);
  for (;;)
    {
      store_relaxed_u32 (&block->next, (uint32_t) seen);
      /* Release: who takes the block sees `next`, and all that was done with the block.  */
      fence_gpu ();
      uint64_t found = compare_exchange_relaxed_gpu_u64 (list, seen, ((seen >> 32) + 1) << 32 | units);
      if (found == seen)
	break;
      seen = found;
    }
  if ((uint32_t) seen == 0)
    or_relaxed_gpu_u32 (&heap->filled[class][arena / 32], 1u << arena % 32);
}

/* Takes a block from a list: its offset in units, or 0 if there is none.  */
static inline uint32_t
pop (struct heap *heap, uint32_t arena, uint32_t class)
{
  uint64_t *list = &heap->lists[arena][class];
  uint64_t seen = load_relaxed_u64 (list);
  while ((uint32_t) seen != 0)
    {
      /* Acquire: pairs with the fence of `push`. What was done with the block comes before all that its taker does. Where another
	 thread takes it meanwhile, `next` may be anything; the list has changed then.  */
      fence_gpu ();
      uint32_t next = load_relaxed_sys_u32 (&block_at (heap, (uint32_t) seen)->next);
      uint64_t found = compare_exchange_relaxed_gpu_u64 (list, seen, ((seen >> 32) + 1) << 32 | next);
      if (found == seen)
	return (uint32_t) seen;
      seen = found;
    }
  return 0;
}

/* Takes a block of a class from the unused end.  */
static inline uint32_t
take_fresh (struct heap *heap, uint32_t class)
{
  uint64_t bytes = class_bytes (class), end = heap->bytes;
  uint64_t seen = load_relaxed_u64 (&heap->used);
  while (seen <= end && bytes <= end - seen)
    {
      if (bytes <= SMALL)
	{
	  seen = fetch_add_relaxed_gpu_u64 (&heap->used, bytes);
	  return seen <= end && bytes <= end - seen ? (uint32_t) (seen / UNIT) : 0;
	}
      uint64_t found = compare_exchange_relaxed_gpu_u64 (&heap->used, seen, seen + bytes);
      if (found == seen)
	return (uint32_t) (seen / UNIT);
      seen = found;
    }
  return 0;
}

/* Takes a block of a class from any arena's list.  */
static inline uint32_t
take_from_any (struct heap *heap, uint32_t class)
{
  for (uint32_t word = 0; word < ARENAS / 32; word++)
    {
      uint32_t *filled = &heap->filled[class][word];
      for (uint32_t bits = load_relaxed_sys_u32 (filled); bits != 0; bits &= bits - 1)
	{
	  uint32_t bit = (uint32_t) __builtin_ctz (bits), arena = 32 * word + bit;
	  uint32_t units = pop (heap, arena, class);
	  if (units != 0)
	    return units;
	  and_relaxed_gpu_u32 (filled, ~(1u << bit));
	  /* A block that was put there before the bit went: the bit comes back.  */
	  fence_gpu ();
	  if ((uint32_t) load_relaxed_u64 (&heap->lists[arena][class]) != 0)
	    or_relaxed_gpu_u32 (filled, 1u << bit);
	}
    }
  return 0;
}

/* Puts `bytes` bytes from `units` on into lists.  */
static inline void
give_rest (struct heap *heap, uint32_t arena, uint32_t units, uint64_t bytes)
{
  while (bytes >= class_bytes (0))
    {
      uint32_t class = class_for (bytes);
      if (class_bytes (class) > bytes)
	class--;
      struct block *block = block_at (heap, units);
      block->state = IS_FREE;
      push (heap, arena, class, units);
      units += (uint32_t) (class_bytes (class) / UNIT);
      bytes -= class_bytes (class);
    }
}

/* Takes a block of a class where neither its own list nor the unused end has any.  */
static __attribute__ ((noinline)) uint32_t
take_from_full (struct heap *heap, uint32_t arena, uint32_t class)
{
  for (uint32_t larger = class; larger < CLASSES && class_bytes (larger) <= heap->bytes; larger++)
    {
      uint32_t units = take_from_any (heap, larger);
      if (units == 0)
	continue;
      uint64_t bytes = class_bytes (class);
      give_rest (heap, arena, units + (uint32_t) (bytes / UNIT), class_bytes (larger) - bytes);
      return units;
    }
  return 0;
}

/* `bytes` counts the 8 of newlib's.  */
void *
__boomerang_malloc (size_t bytes)
{
  struct heap *heap = (struct heap *) __boomerang_heap;
  if (bytes < 8)
    /* newlib's sum has overflowed.  */
    return 0;
  if (heap == 0 || bytes > heap->bytes - HEAP_HEAD_BYTES)
    return malloc (bytes);
  uint32_t class = class_for (bytes + PREFIX), arena = this_arena ();
  uint32_t units = pop (heap, arena, class);
  if (units == 0)
    units = take_fresh (heap, class);
  if (units == 0)
    units = take_from_full (heap, arena, class);
  if (units == 0)
    return malloc (bytes);
  struct block *block = block_at (heap, units);
  block->state = IN_USE;
  block->arena = (uint16_t) arena;
  block->class = (uint16_t) class;
  return (char *) block + PREFIX;
}

void
__boomerang_free (void *pointer)
{
  struct heap *heap = (struct heap *) __boomerang_heap;
  uint64_t offset = (uint64_t) pointer - (uint64_t) heap;
  if (heap == 0 || offset >= heap->bytes)
    {
      free (pointer);
      return;
    }
  struct block *block = (struct block *) ((char *) pointer - PREFIX);
  int is_block = offset >= HEAP_HEAD_BYTES && offset % UNIT == PREFIX;
  /* Of several threads that free one block, one does.  */
  if (!is_block || compare_exchange_relaxed_gpu_u32 (&block->state, IN_USE, IS_FREE) != IN_USE)
    {
      if (heap->traps)
	__builtin_trap ();
      return;
    }
  push (heap, block->arena, block->class, (uint32_t) (offset / UNIT));
}
