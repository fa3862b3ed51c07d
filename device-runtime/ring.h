/* Taking a slot, posting a request in it and waiting for the reply. The layout and its invariants: include/rev_wire.h.  */

#ifndef BOOMERANG_RING_H
#define BOOMERANG_RING_H

#include "../include/rev_wire.h"
#include "sys_atomics.h"

/* These two are defined by the image's first object that has kernels (plugin/image/inject.rs).
   Set by every kernel as it starts, null where the host serves no ring.  */
extern __attribute__ ((address_space (3))) uint64_t __boomerang_region;

/* A copy of the region, one per team: shared memory answers ten times sooner. Every kernel clears `version` as it starts, and the
   first requester fills it in; several may, with the same. Nobody counts teams in the copy: there `ended_teams` is the device's number
   + 1, or 0 while GOMP_target_ext hasn't asked for it.  */
extern __attribute__ ((address_space (3))) struct rev_region __boomerang_cache;

/* From the post to the first look for the reply, in cycles of some 0.5 ns. A look takes 1.1 us (measured on an H200), whose first half is
   its way to the host's memory: one that comes too early costs another. So each slot learns the right time. A first look that finds the
   reply has the next come sooner, one that doesn't has it come later, by eight times that: so about one in nine comes in vain.
   MOST: where replies take longer than that, it makes no difference.  */
#define FIRST_LOOK_SOONER 16u
#define FIRST_LOOK_LATER 128u
#define FIRST_LOOK_MOST 2200u
/* Looks for the reply between looks at the bell. None comes with the first look, most often the only one: two take 0.1 us longer.  */
#define BELL_LOOKS 8
/* Looks for the reply, a microsecond each, before the others are given more of the bus, and the pause between looks then.  */
#define EAGER_LOOKS 16
#define NAP_NS 500

/* Who makes a request: a full warp in lockstep, as code outside SIMD regions runs, or a lane for itself.  */
struct lanes
{
  uint32_t first; /* this lane's part of common work: every `step`th piece from `first` on */
  uint32_t step;
  int leads; /* whether this lane does what only one may do */
};

/* The right to use a slot.  */
struct ticket
{
  uint64_t *posted;
  struct rev_request *request;
  uint64_t *words;
  struct rev_reply *reply;
  struct rev_turn *turn;
  struct rev_bell *bell;
  const uint32_t *asleep;
  char *area;
  uint32_t area_bytes;
  /* The leader's alone.  */
  uint32_t number;
  uint32_t serving; /* the slot's, as the number was drawn */
};

/* The region of the running kernel; false if there is none.  */
static inline int
find_region (struct rev_region *region)
{
  /* Acquire: pairs with the release below, of whoever has filled it in.  */
  if (load_acquire_cta_shared_u32 (&__boomerang_cache.version) != REV_WIRE_VERSION)
    {
      const struct rev_region *here = (const struct rev_region *) __boomerang_region;
      if (here == 0 || here->version != REV_WIRE_VERSION)
	return 0;
      __boomerang_cache.ended_teams = 0;
      __boomerang_cache.slot_mask = here->slot_mask;
      __boomerang_cache.area_bytes = here->area_bytes;
      __boomerang_cache.posted = here->posted;
      __boomerang_cache.requests = here->requests;
      __boomerang_cache.replies = here->replies;
      __boomerang_cache.areas = here->areas;
      __boomerang_cache.turns = here->turns;
      __boomerang_cache.bell = here->bell;
      __boomerang_cache.words = here->words;
      store_release_cta_shared_u32 (&__boomerang_cache.version, REV_WIRE_VERSION);
    }
  region->slot_mask = __boomerang_cache.slot_mask;
  region->area_bytes = __boomerang_cache.area_bytes;
  region->posted = __boomerang_cache.posted;
  region->requests = __boomerang_cache.requests;
  region->replies = __boomerang_cache.replies;
  region->areas = __boomerang_cache.areas;
  region->turns = __boomerang_cache.turns;
  region->bell = __boomerang_cache.bell;
  region->words = __boomerang_cache.words;
  return 1;
}

/* Per warp, 0 outside SIMD regions, where all lanes run in lockstep, and ~0 within (GCC's nvptx back end, -muniform-simt).  */
extern __attribute__ ((address_space (3))) uint32_t __nvptx_uni[32];

/* Whether the whole warp makes the request together; in OpenMP's images only.  */
static inline int
in_lockstep (void)
{
  return __nvptx_uni[__nvvm_read_ptx_sreg_tid_y ()] == 0;
}

static inline struct lanes
lane_alone (void)
{
  struct lanes lanes = { 0, 1, 1 };
  return lanes;
}

static inline struct lanes
lanes_of_warp (void)
{
  uint32_t lane = __nvvm_read_ptx_sreg_laneid ();
  struct lanes lanes = { lane, 32, lane == 0 };
  return lanes;
}

static inline void
meet (struct lanes lanes)
{
  if (lanes.step != 1)
    warp_sync (ALL_LANES);
}

static inline uint32_t
from_leader (struct lanes lanes, uint32_t value)
{
  return lanes.step != 1 ? from_lane (0, value) : value;
}

/* Lines up for a slot. Each warp has one that it alone uses where there are enough; lanes for themselves spread out.  */
static inline struct ticket
line_up (const struct rev_region *region, struct lanes lanes)
{
  uint32_t warp = __nvvm_read_ptx_sreg_ctaid_x () * __nvvm_read_ptx_sreg_ntid_y () + __nvvm_read_ptx_sreg_tid_y ();
  uint32_t spread = lanes.step != 1 ? 0 : __nvvm_read_ptx_sreg_laneid () * 33;
  uint32_t index = (warp + spread) & region->slot_mask;
  struct ticket ticket;
  ticket.posted = (uint64_t *) region->posted + index;
  ticket.request = (struct rev_request *) region->requests + index;
  ticket.words = ((struct rev_words *) region->words + index)->word;
  ticket.reply = (struct rev_reply *) region->replies + index;
  ticket.turn = (struct rev_turn *) region->turns + index;
  ticket.bell = (struct rev_bell *) region->bell;
  ticket.asleep = &ticket.bell->asleep[((region->posted >> 12) + index) % REV_BELL_COPIES].word;
  ticket.area = (char *) region->areas + (uint64_t) index * region->area_bytes;
  ticket.area_bytes = region->area_bytes;
  ticket.number = ticket.serving = 0;
  /* Both are under way at once.  */
  if (lanes.leads)
    {
      ticket.number = fetch_add_relaxed_gpu_u32 (&ticket.turn->next, 1);
      ticket.serving = load_relaxed_sys_u32 (&ticket.turn->serving);
    }
  return ticket;
}

/* Whether the slot is ours now.  */
static inline int
is_our_turn (struct ticket ticket, struct lanes lanes)
{
  /* Acquire: pairs with `give_back_slot` of the ticket before, or with the host's reply to one that nobody waits for.  */
  return from_leader (lanes, lanes.leads
			       && (load_acquire_gpu_u32 (&ticket.turn->serving) == ticket.number
				   || (load_acquire_gpu_u32 (&ticket.turn->left) == ticket.number
				       && (uint32_t) load_acquire_sys_u64 (ticket.reply) == ticket.number)));
}

/* What one lane copies at a time.  */
struct piece
{
  uint64_t low, high;
};

static inline struct piece
load_fresh (const struct piece *from)
{
  struct piece piece;
  asm volatile (LOAD_FRESH ".v2.u64 {%0, %1}, [%2];" : "=l"(piece.low), "=l"(piece.high) : "l"(from) : "memory");
  return piece;
}

static inline void
store (struct piece *to, struct piece piece)
{
  asm volatile ("st.v2.u64 [%0], {%1, %2};" : : "l"(to), "l"(piece.low), "l"(piece.high) : "memory");
}

/* Writes the request, the line at once: a warp by one store of eight lanes.  */
static inline void
fill (struct ticket ticket, const struct rev_request *request, struct lanes lanes)
{
  const uint64_t words[8] = { (uint64_t) request->has_inline << 32 | request->op,
			      request->fn,
			      request->mapnum,
			      request->addrs,
			      request->sizes,
			      request->kinds,
			      (uint32_t) request->dev_num,
			      0 };
  uint64_t *line = (uint64_t *) ticket.request;
  if (lanes.step == 1)
    for (int i = 0; i < 8; i += 2)
      store ((struct piece *) (line + i), (struct piece) { words[i], words[i + 1] });
  else if (lanes.first < 8)
    {
      uint64_t word = words[0];
#pragma unroll
      for (uint32_t i = 1; i < 8; i++)
	word = lanes.first == i ? words[i] : word;
      asm volatile ("st.u64 [%0], %1;" : : "l"(line + lanes.first), "l"(word) : "memory");
    }
}

/* Publishes a short request, a target block's that maps nothing. `exchange` has released what came before.  */
static inline void
post_short (struct ticket ticket, uint32_t dev_num, uint64_t fn, struct lanes lanes)
{
  if (lanes.leads)
    store_relaxed_u64 (ticket.posted, REV_POSTED (ticket.number, 0, dev_num, fn));
}

/* Publishes a compact request of a warp, each lane of it a word, by one store. `exchange` has released what came before. The words say
   whose they are, so `posted` needn't wait until they are there.  */
static inline void
post_words (struct ticket ticket, uint32_t items, uint32_t dev_num, uint64_t fn, uint32_t word, struct lanes lanes)
{
  uint32_t number = from_leader (lanes, ticket.number);
  if (lanes.first < items * REV_ITEM_WORDS)
    store_relaxed_u64 (ticket.words + lanes.first, REV_WORD (number, word));
  if (lanes.leads)
    store_relaxed_u64 (ticket.posted, REV_POSTED (number, items, dev_num, fn));
}

/* Publishes the long request that all lanes wrote into the slot.  */
static inline void
post_long (struct ticket ticket, struct lanes lanes)
{
  meet (lanes);
  if (lanes.leads)
    store_release_sys_u64 (ticket.posted, REV_POSTED (ticket.number, 0, 0, 0));
}

/* What a look at the reply finds.  */
struct reply
{
  uint32_t dirty; /* what has new contents */
  uint64_t word;  /* this lane's of the reply's words, if it read one */
};

/* Whether the host has served the request. `words`: how many of the reply's words a warp reads, a lane each, by one load.  */
static inline int
is_served (struct ticket ticket, uint32_t words, struct reply *reply, struct lanes lanes)
{
  reply->word = lanes.first < words ? load_acquire_sys_u64 ((const uint64_t *) ticket.reply + lanes.first) : 0;
  reply->dirty = from_leader (lanes, (uint32_t) (reply->word >> 32));
  return from_leader (lanes, lanes.leads && (uint32_t) reply->word == ticket.number + 1);
}

/* Waits until it is time for the first look; returns after how many cycles that was to be. Called right after the post: part of the
   time passes while we ask how long.  */
static inline uint32_t
await_first_look (struct ticket ticket, struct lanes lanes)
{
  uint32_t start = cycles ();
  uint32_t wait = from_leader (lanes, lanes.leads ? load_relaxed_sys_u32 (&ticket.turn->first_look) : 0);
#pragma nounroll
  while (cycles () - start < wait)
    ;
  return wait;
}

/* Has the next holder of the slot wait for less or for more.  */
static inline void
learn (struct ticket ticket, uint32_t waited, int found, struct lanes lanes)
{
  uint32_t sooner = waited > FIRST_LOOK_SOONER ? waited - FIRST_LOOK_SOONER : 0;
  uint32_t later = waited + FIRST_LOOK_LATER < FIRST_LOOK_MOST ? waited + FIRST_LOOK_LATER : FIRST_LOOK_MOST;
  if (lanes.leads)
    store_relaxed_u32 (&ticket.turn->first_look, found ? sooner : later);
}

/* Whether the host has to be rung for: looked at together with the reply, so that neither look waits for the other.  */
static inline uint32_t
is_host_asleep (struct ticket ticket, struct lanes lanes)
{
  return lanes.leads ? load_relaxed_sys_u32 (ticket.asleep) : 0;
}

/* Word `place` of the reply to a compact request, which `dirty` names. The line may have been read while the host wrote it. Since
   `done` was seen, and the lanes have met, the word is there.  */
static inline uint32_t
word_of_reply (struct ticket ticket, struct reply reply, uint32_t place, int wanted, struct lanes lanes)
{
  uint32_t number = from_leader (lanes, ticket.number);
  uint64_t word = from_lane_u64 (place, reply.word);
  meet (lanes);
  if (wanted && (uint32_t) (word >> 32) != number + 1)
    word = load_relaxed_sys_u64 ((const uint64_t *) ticket.reply + place);
  return (uint32_t) word;
}

/* Goes on without the reply. The next requester has the slot once the host has served this request. Nobody looks at the bell until
   then, so it is rung in any case. Release: the host that this wakes sees the request.  */
static inline void
leave_slot (struct ticket ticket, struct lanes lanes)
{
  if (lanes.leads)
    {
      store_release_sys_u32 (&ticket.bell->rung, 1);
      store_release_gpu_u32 (&ticket.turn->left, ticket.number + 1);
    }
}

/* Lets the next requester have the slot. Release, if we have read from its inline area: pairs with `is_our_turn` of the next. Of the rest
   of the slot nothing is read that the next writes.  */
static inline void
give_back_slot (struct ticket ticket, int has_read, struct lanes lanes)
{
  meet (lanes);
  if (lanes.leads && has_read)
    store_release_gpu_u32 (&ticket.turn->serving, ticket.number + 1);
  else if (lanes.leads)
    store_relaxed_u32 (&ticket.turn->serving, ticket.number + 1);
}

/* Copies between memory and the inline area, `lanes` together. Before sm_70 a plain load may find in the L1 cache what was there before
   the host wrote.  */
static inline void
copy (void *to, const void *from, uint64_t bytes, struct lanes lanes)
{
  uint64_t align = (uint64_t) to | (uint64_t) from | bytes;
  uint64_t i;
  if ((align & 15) == 0)
    {
      uint64_t pieces = bytes / 16;
      /* Two at a time: the second needn't wait for the first to cross the bus.  */
#pragma nounroll
      for (i = lanes.first; i < pieces; i += 2 * lanes.step)
	{
	  uint64_t next = i + lanes.step < pieces ? i + lanes.step : i;
	  struct piece one = load_fresh ((const struct piece *) from + i), two = load_fresh ((const struct piece *) from + next);
	  store ((struct piece *) to + i, one);
	  store ((struct piece *) to + next, two);
	}
    }
  else if ((align & 3) == 0)
#pragma nounroll
    for (i = lanes.first; i < bytes / 4; i += lanes.step)
      ((uint32_t *) to)[i] = load_fresh_u32 ((const uint32_t *) from + i);
  else
#pragma nounroll
    for (i = lanes.first; i < bytes; i += lanes.step)
      ((uint8_t *) to)[i] = load_fresh_u8 ((const uint8_t *) from + i);
}

/* Writes a request into its slot and posts it.  */
typedef void poster (struct ticket ticket, const void *request, struct lanes lanes);
/* Fetches what the host left in the slot; whether it read in the inline area.  */
typedef int taker (struct ticket ticket, const void *request, struct reply reply, struct lanes lanes);

/* Takes a slot, posts the request and, if there is something to take, waits for the reply, takes it and gives the slot back. `words`:
   see `is_served`. `is_long`: whether the request has the long form. Where it hasn't, all that comes before the post is done by now. It
   is released here: the fence takes 0.5 us and more (docs/performance.md), and meanwhile ticket and turn are on their way.

   There is one loop, which all lanes leave together, by a vote. Lanes that come out of a loop wait behind it for those of their warp that
   are still in it; here none has to, so none waits there for one that waits for what it holds. And GCC's code wants lanes to go on as
   they came, together: it has one soft-stack pointer for all lanes of a warp, in shared memory, which every function moves and puts
   back.  */
static inline __attribute__ ((always_inline)) void
exchange (const struct rev_region *region, const void *request, poster *post_it, taker *take_it, uint32_t words, int is_long,
	  struct lanes lanes)
{
  enum { IN_LINE, POSTED, LOOKED, DONE } stage = IN_LINE;
  uint32_t together = lanes.step != 1 ? ALL_LANES : active_lanes ();
  meet (lanes);
  struct ticket ticket = line_up (region, lanes);
  int is_ours = 0;
  if (!is_long)
    {
      /* Each lane for what it did and, as they have met, for what the others did. Acquire, too: see `is_our_turn`.  */
      fence_sys ();
      is_ours = from_leader (lanes, lanes.leads && ticket.serving == ticket.number);
    }
  uint32_t wait = 0, looks_in_vain = 0;
  for (uint32_t looks = 0;; looks++)
    {
      if (stage == IN_LINE && (is_ours || is_our_turn (ticket, lanes)))
	{
	  post_it (ticket, request, lanes);
	  stage = POSTED;
	  if (take_it == 0)
	    {
	      leave_slot (ticket, lanes);
	      stage = DONE;
	    }
	  else
	    wait = await_first_look (ticket, lanes);
	}
      if (stage == POSTED || stage == LOOKED)
	{
	  struct reply reply;
	  uint32_t is_asleep = looks_in_vain++ % BELL_LOOKS == 1 ? is_host_asleep (ticket, lanes) : 0;
	  int is_there = is_served (ticket, words, &reply, lanes);
	  if (stage == POSTED)
	    learn (ticket, wait, is_there, lanes);
	  stage = LOOKED;
	  if (is_there)
	    {
	      int has_read = take_it (ticket, request, reply, lanes);
	      give_back_slot (ticket, has_read, lanes);
	      stage = DONE;
	    }
	  else if (is_asleep)
	    /* Release: the host that this wakes sees the request.  */
	    store_release_sys_u32 (&ticket.bell->rung, 1);
	}
      if (!any_lane (together, stage != DONE))
	return;
      if (looks >= EAGER_LOOKS)
	nap (NAP_NS);
    }
}

#endif
