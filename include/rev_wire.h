/* The layout that a kernel and the host share for reverse offload through Boomerang's device runtime.

   Each region that runs has a `rev_region` in device memory, in front of its soft stacks, and a window of request slots in pinned
   host memory: per slot a word `posted`, a `rev_request` and a `rev_words`, which the device writes, a `rev_reply`, which the host
   writes, and an inline area. They are arrays of their own, so that the host looks through many slots at the speed of its caches. A
   slot belongs to one requester at a time. Who may fill it is decided in device memory, by a ticket lock per slot; what it holds is
   decided by two words, each written by one side only:

     posted   written by the device: (ticket + 1) % 256 and the request itself, or word that it is complete (REV_POSTED)
     done     written by the host:   ticket + 1 when the request of that ticket is served

   A request has one of three forms:

     short     it maps nothing: `posted` is all of it
     compact   it maps a few ints and the like: `posted` tells function and number of items, the slot's rev_words the items. Each word
	       carries the ticket, so it needn't be there before `posted` is: whoever finds it without looks again. What the host
	       changes comes back in words of that kind in the reply's own line, which is read at once
     long      anything else: the slot's rev_request and inline area

   Neither side touches what the form doesn't name.

   Invariants
   1. A `posted` whose ticket isn't that of `done` says that the slot holds a request that waits to be served; of the compact form, once
      each of its words carries the ticket + 1 in full. The device changes `posted` only while it holds the slot's turn and its
      ticket is that of `done`, by a store with release order at system scope, or by one that a fence with that order comes before; the
      host reads it with acquire order. Tickets count on by one, so the host knows the one to come in full.
      With the compact form it is the words that such a fence comes before, of the lane that stores them, and that are loaded with
      acquire order; `posted` comes after them in the program, and may be seen before. Nothing but such words is ever stored in a rev_words, so one
      that carries a ticket is of that ticket's request (or of one 2^32 requests ago).
      The device holds the turn of ticket t once `serving == t`; or once `left == t`, that is, the holder of ticket t - 1 went on without
      its reply, and `done == t`, that is, the host has served it. `serving` and `left` are stored with release order by the
      holder of ticket t - 1, and read with acquire order by that of t.
   2. From then until it is served the slot's other words and its inline area are the host's to read, and the bytes of items
      in that area its to write; the whole area, if the request is not long, and the reply's other words, if it is compact. The host
      changes `done` by a release store; the device reads it with acquire order at system scope. It may read the reply's other words at
      the same time: one that `dirty` names, but that doesn't carry the ticket + 1, it reads again after that.
   3. Tickets of a slot are served in order, so a requester waits for those alone that took a ticket of the same slot before it.
   4. A host that is about to sleep stores 1 to each `asleep`, then looks at every slot, then waits until `rung` is not 0. A device that
      waits for a reply reads its `asleep` again and again, and stores 1 to `rung`, with release order, once it reads 1 and has not
      found the reply. So either the
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
#define REV_WIRE_VERSION 5u

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

/* What `posted` holds. `fn` is that of a REV_OP_TARGET request of device `dev_num`: a short one, if `items` is 0, or a compact one of so
   many items. `fn` 0 says that the request is long; the rest is 0 then. */
#define REV_FN_BITS 48
#define REV_DEV_NUM_BITS 4
#define REV_ITEMS_BITS 4
#define REV_POSTED(ticket, items, dev_num, fn)                                                              \
  ((uint64_t) (uint8_t) ((ticket) + 1) << (REV_FN_BITS + REV_DEV_NUM_BITS + REV_ITEMS_BITS)                 \
   | (uint64_t) (items) << (REV_FN_BITS + REV_DEV_NUM_BITS) | (uint64_t) (dev_num) << REV_FN_BITS | (uint64_t) (fn))

/* Items of a compact request, at most, and words of each: a lane of a warp writes a word. */
#define REV_COMPACT_ITEMS 8u
#define REV_ITEM_WORDS 4u

/* Words of a reply that bring new contents, at most. */
#define REV_REPLY_WORDS 7u

/* A word of a rev_words or of a reply: 32 bits of the request, and its ticket. */
#define REV_WORD(ticket, bits) ((uint64_t) (uint32_t) ((ticket) + 1) << 32 | (uint32_t) (bits))

/* Of the second word of an item: address and kind have so many bits each at most, and behind them is how many words of contents there
   are. */
#define REV_ADDRESS_BITS 48
#define REV_KIND_BITS 14
#define REV_ITEM_HEAD(address, kind, words) \
  ((uint32_t) ((address) >> 32) | (uint32_t) (kind) << 16 | (uint32_t) (words) << (16 + REV_KIND_BITS))

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
  uint64_t words;    /* address of the first rev_words, pinned host memory */
};

/* In device memory, one a slot: a ticket lock. */
struct rev_turn
{
  uint32_t next;    /* the ticket that the next requester gets */
  uint32_t serving; /* the ticket whose holder may use the slot */
  uint32_t left;    /* ticket + 1 of the last request whose poster did not wait for the reply */
  uint32_t first_look; /* when the holder first looks for the reply: cycles of its clock after the post (ring.h) */
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

/* The items of a compact request, in pinned host memory, written by the device. Item i has the words (REV_WORD) from REV_ITEM_WORDS * i
   on: the low half of its address; REV_ITEM_HEAD; and two for its contents, if it travels: 4 or 8 bytes, by as many words as
   these fill. Those that don't go to the server are 0. If it doesn't travel, there are no words of contents, and its size is in
   these two.

   A request may be compact where a whole warp makes it; where all items that travel, by the rule below, have 4 or 8 bytes at a multiple
   of 4; where at most REV_REPLY_WORDS words can come back; where function, device number, addresses and kinds have no more bits than
   there are for them; and where all its items would fit into the inline area, each with REV_ITEM_ALIGN bytes. */
struct rev_words
{
  uint64_t word[REV_COMPACT_ITEMS * REV_ITEM_WORDS];
};

/* In pinned host memory, a cache line each, written by the host; the device reads a word, or all at once. The contents of a compact
   request's items that come back have a word each for 4 bytes, in order. */
struct rev_reply
{
  uint32_t done;
  uint32_t dirty; /* bit i: the host has put new contents of item i into the inline area; or, of a compact request, into word[i - 1] */
  uint64_t word[REV_REPLY_WORDS];
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
REV_ASSERT (sizeof (struct rev_region) == 80 && sizeof (struct rev_region) <= REV_REGION_BYTES);
REV_ASSERT (offsetof (struct rev_region, posted) == 16 && offsetof (struct rev_region, bell) == 56
	    && offsetof (struct rev_region, end) == 64 && offsetof (struct rev_region, words) == 72);
REV_ASSERT (sizeof (struct rev_turn) == 16 && offsetof (struct rev_turn, left) == 8
	    && offsetof (struct rev_turn, first_look) == 12);
REV_ASSERT (sizeof (struct rev_bell) == 64 * (1 + REV_BELL_COPIES) && offsetof (struct rev_bell, asleep) == 64);
REV_ASSERT (sizeof (struct rev_request) == 64 && offsetof (struct rev_request, fn) == 8);
REV_ASSERT (offsetof (struct rev_request, kinds) == 40 && offsetof (struct rev_request, dev_num) == 48);
REV_ASSERT (sizeof (struct rev_reply) == 64 && offsetof (struct rev_reply, dirty) == 4);
REV_ASSERT (sizeof (struct rev_words) == 256 && REV_COMPACT_ITEMS < 1 << REV_ITEMS_BITS);
#undef REV_ASSERT
#endif

#endif
