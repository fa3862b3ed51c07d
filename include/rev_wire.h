/* The layout that a kernel and the host share for reverse offload through Boomerang's device runtime.

   Each region that runs has a `rev_region` in device memory, in front of its soft stacks, and a window of request slots in pinned
   host memory: per slot a word `posted` and a `rev_request`, which the device writes, a `rev_reply`, which the host writes, and an
   inline area. They are arrays of their own, so that the host looks through many slots at the speed of its caches. A slot belongs to
   one requester at a time. Who may fill it is decided in device memory, by a ticket lock per slot; what it holds is decided by two
   words, each written by one side only:

     posted   written by the device: (ticket + 1) % 256 and the request itself, or word that it is complete (REV_POSTED)
     done     written by the host:   ticket + 1 when the request of that ticket is served

   A request that maps nothing is that one word: neither side touches its rev_request.

   Invariants
   1. A `posted` whose ticket isn't that of `done` says that the slot holds a request that waits to be served. The device changes
      `posted` only while it holds the slot's turn and its ticket is that of `done`, by a release store at system scope; the host
      reads it with acquire order. Tickets count on by one, so the host knows the one to come in full.
      It holds the turn of ticket t once `serving == t`; or once `left == t`, that is, the holder of ticket t - 1 went on without
      its reply, and `done == t`, that is, the host has served it. `serving` and `left` are stored with release order by the
      holder of ticket t - 1, and read with acquire order by that of t.
   2. From then until it is served the slot's other words and its inline area are the host's to read, and the bytes of items
      in that area its to write. The host changes `done` by a release store; the device reads it with acquire order at system scope.
   3. Tickets of a slot are served in order, so a requester waits for those alone that took a ticket of the same slot before it.
   4. A host that is about to sleep stores 1 to each `asleep`, then looks at every slot, then waits until `rung` is not 0. A device that
      waits for a reply reads its `asleep` again and again, and stores 1 to `rung`, with release order, once it reads 1. So either the
      host sees the request or the device sees that it has to ring. A device that doesn't wait stores 1 to `rung` in any case.
   5. A region's end is reported after all that its kernel posted is served, whether somebody waits for the reply or not. So
      the next region that gets the window finds every slot idle.

   6. The host clears the word at `end` before it launches a kernel. If the launch asks for it (plugin/image/epilogue.rs), the last team
      stores 1 there and then to `rung`, moments before the kernel ends. So a host that is about to sleep, and looks at the word as it looks at the slots, is woken for the end. The word is a
      hint: whether the kernel has ended is the driver's to say. Kernels store it in plain PTX.

   Plain C99 and CUDA C; the Rust side is plugin/reverse/wire.rs, and tests/wire_layout.rs compares the two.  */

#ifndef BOOMERANG_REV_WIRE_H
#define BOOMERANG_REV_WIRE_H

#include <stddef.h>
#include <stdint.h>

/* Changes whenever anything below does. */
#define REV_WIRE_VERSION 4u

/* Bytes before the first soft stack that hold the region. */
#define REV_REGION_BYTES 256u

/* Slots in a window, at most; always a power of two. */
#define REV_MAX_SLOTS 1024u

/* Copies of the word that says that the host is asleep. */
#define REV_BELL_COPIES 64u

/* Items that can travel inline in a request; one bit each in `reply.dirty`. */
#define REV_MAX_INLINE_ITEMS 32u

/* Alignment of inline areas and of the items in them: what one lane copies at a time. */
#define REV_ITEM_ALIGN 16u

/* What a request asks for. */
#define REV_OP_TARGET 0u /* an OpenMP target block: `fn` and the map arrays */
#define REV_OP_USER 1u   /* a call of device-runtime/boomerang.h: `fn` is the 32-bit opcode, the inline area holds `mapnum` bytes at its
			    start, which the host may change, and nothing else; `has_inline` is 0, and so is the reply's `dirty` */

/* What `posted` holds. `fn` is that of a REV_OP_TARGET request of device `dev_num` that maps nothing; 0 says that the request is in
   the slot's rev_request. */
#define REV_FN_BITS 48
#define REV_DEV_NUM_BITS 8
#define REV_POSTED(ticket, dev_num, fn)                                            \
  ((uint64_t) (uint8_t) ((ticket) + 1) << (REV_FN_BITS + REV_DEV_NUM_BITS)         \
   | (uint64_t) (dev_num) << REV_FN_BITS | (uint64_t) (fn))

/* In device memory, written by the host before the first launch that uses it. */
struct rev_region
{
  uint32_t version;    /* REV_WIRE_VERSION */
  uint32_t slot_mask;  /* number of slots - 1 */
  uint32_t area_bytes; /* size of each inline area, a multiple of REV_ITEM_ALIGN */
  uint32_t ended_teams; /* device only: teams of the running kernel that have come to their end; 0 again once all have */
  uint64_t posted;   /* address of the first `posted`, a uint64_t, pinned host memory */
  uint64_t requests; /* address of the first rev_request, pinned host memory */
  uint64_t replies;  /* address of the first rev_reply, pinned host memory */
  uint64_t areas;    /* address of the first inline area, pinned host memory */
  uint64_t turns;    /* address of the first rev_turn, device memory */
  uint64_t bell;     /* address of the rev_bell, pinned host memory */
  uint64_t end;      /* address of a uint32_t, pinned host memory: see invariant 6 */
};

/* In device memory, one a slot: a ticket lock. */
struct rev_turn
{
  uint32_t next;    /* the ticket that the next requester gets */
  uint32_t serving; /* the ticket whose holder may use the slot */
  uint32_t left;    /* ticket + 1 of the last request whose poster did not wait for the reply */
  uint32_t reserved;
};

/* In pinned host memory, one a device. `asleep` has copies, each in a cache line of its own, so that not all requesters read one line:
   it answers one a microsecond (measured on an H200). Which one is read doesn't matter; slots and windows have different ones. */
struct rev_bell
{
  uint32_t rung; /* device, host and stream writes: 1 to wake the host */
  uint32_t reserved[15];
  struct
  {
    uint32_t word; /* host only: 1 while it has to be rung for */
    uint32_t reserved[15];
  } asleep[REV_BELL_COPIES];
};

/* In pinned host memory, a cache line each, written by the device. */
struct rev_request
{
  uint32_t op;
  uint32_t has_inline; /* 1: the inline area holds the arrays, and the items that fit */
  uint64_t fn;
  uint64_t mapnum;
  uint64_t addrs;
  uint64_t sizes;
  uint64_t kinds;
  int32_t dev_num;
  uint32_t reserved0;
  uint64_t reserved1;
};

/* In pinned host memory, a cache line each, written by the host; the device reads the first 8 bytes at once. */
struct rev_reply
{
  uint32_t done;
  uint32_t dirty; /* bit i: the host has put new contents of item i into the inline area */
  uint64_t reserved[7];
};

/* The inline area of a REV_OP_TARGET request holds `mapnum` addresses, `mapnum` sizes, `mapnum` 16-bit kinds, then at the next multiple of REV_ITEM_ALIGN the
   items, each at a multiple of it, in order. An item travels if it is among the first REV_MAX_INLINE_ITEMS, its address is not null,
   its kind moves data, its size is not 0, and it fits; one that doesn't is left out and takes no room.  */

/* Map kinds, bits 0 to 7 of a kind (GCC's include/gomp-constants.h): whether an item's bytes go to, or come from, the server. */
static inline int
rev_kind_to (uint32_t kind)
{
  kind &= 0xff;
  return kind == 12 /* firstprivate */
	 || ((kind & 1)
	     && ((kind & ~3u) == 0 || (kind & ~3u) == 0x80 /* force */ || (kind & ~3u) == 0x10 /* always */
		 || (kind & ~3u) == 0x94 /* always, present */));
}

static inline int
rev_kind_from (uint32_t kind)
{
  kind &= 0xff;
  return (kind & 2)
	 && ((kind & ~3u) == 0 || (kind & ~3u) == 0x80 || (kind & ~3u) == 0x10 || (kind & ~3u) == 0x94);
}

/* Where the language has static assertions: C11, C++11.  */
#if defined(__cplusplus) && __cplusplus >= 201103L
#define REV_ASSERT(condition) static_assert (condition, #condition)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define REV_ASSERT(condition) _Static_assert (condition, #condition)
#endif
#ifdef REV_ASSERT
REV_ASSERT (sizeof (struct rev_region) == 72 && sizeof (struct rev_region) <= REV_REGION_BYTES);
REV_ASSERT (offsetof (struct rev_region, posted) == 16 && offsetof (struct rev_region, bell) == 56
	    && offsetof (struct rev_region, end) == 64);
REV_ASSERT (sizeof (struct rev_turn) == 16 && offsetof (struct rev_turn, left) == 8);
REV_ASSERT (sizeof (struct rev_bell) == 64 * (1 + REV_BELL_COPIES) && offsetof (struct rev_bell, asleep) == 64);
REV_ASSERT (sizeof (struct rev_request) == 64 && offsetof (struct rev_request, fn) == 8);
REV_ASSERT (offsetof (struct rev_request, kinds) == 40 && offsetof (struct rev_request, dev_num) == 48);
REV_ASSERT (sizeof (struct rev_reply) == 64 && offsetof (struct rev_reply, dirty) == 4);
#undef REV_ASSERT
#endif

#endif
