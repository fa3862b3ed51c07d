/* Taking a slot, posting a request in it and waiting for the reply. The layout and its invariants: include/rev_wire.h.  */

#ifndef BOOMERANG_RING_H
#define BOOMERANG_RING_H

#include "../include/rev_wire.h"
#include "sys_atomics.h"

/* Set by every kernel as it starts (plugin/image/inject.rs), null where the host serves no ring.  */
extern __attribute__ ((address_space (3))) uint64_t __boomerang_region;

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
  struct rev_request *request;
  struct rev_reply *reply;
  struct rev_turn *turn;
  char *area;
  uint32_t number;
};

static inline const struct rev_region *
region_here (void)
{
  const struct rev_region *region = (const struct rev_region *) __boomerang_region;
  return region != 0 && region->version == REV_WIRE_VERSION ? region : 0;
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
    warp_sync ();
}

static inline uint32_t
from_leader (struct lanes lanes, uint32_t value)
{
  return lanes.step != 1 ? warp_broadcast (value) : value;
}

/* Takes a slot. Each warp has one that it alone uses where there are enough; lanes for themselves spread out.  */
static inline struct ticket
take_slot (const struct rev_region *region, struct lanes lanes)
{
  uint32_t warp = __nvvm_read_ptx_sreg_ctaid_x () * __nvvm_read_ptx_sreg_ntid_y () + __nvvm_read_ptx_sreg_tid_y ();
  uint32_t spread = lanes.step != 1 ? 0 : __nvvm_read_ptx_sreg_laneid () * 33;
  uint32_t index = (warp + spread) & region->slot_mask;
  struct ticket ticket;
  ticket.request = (struct rev_request *) region->requests + index;
  ticket.reply = (struct rev_reply *) region->replies + index;
  ticket.turn = (struct rev_turn *) region->turns + index;
  ticket.area = (char *) region->areas + (uint64_t) index * region->area_bytes;
  ticket.number = 0;
  if (lanes.leads)
    {
      ticket.number = fetch_add_relaxed_gpu_u32 (&ticket.turn->next, 1);
      /* Acquire: pairs with `give_back_slot` of the ticket before, or with the host's reply to one that nobody waits for.  */
      while (load_acquire_gpu_u32 (&ticket.turn->serving) != ticket.number
	     && !(load_acquire_gpu_u32 (&ticket.turn->left) == ticket.number
		  && (uint32_t) load_acquire_sys_u64 (ticket.reply) == ticket.number))
	nap (200);
    }
  ticket.number = from_leader (lanes, ticket.number);
  return ticket;
}

/* Publishes what all lanes wrote into the slot.  */
static inline void
post (struct ticket ticket, struct lanes lanes)
{
  meet (lanes);
  if (lanes.leads)
    store_release_sys_u32 (&ticket.request->posted, ticket.number + 1);
}

/* Waits until the host has served the request; returns the items that have new contents.  */
static inline uint32_t
wait_for_reply (const struct rev_region *region, struct ticket ticket, struct lanes lanes)
{
  uint32_t dirty = 0;
  if (lanes.leads)
    {
      struct rev_bell *bell = (struct rev_bell *) region->bell;
      uint32_t pause = 0;
      int rung = 0;
      for (;;)
	{
	  uint64_t reply = load_acquire_sys_u64 (ticket.reply);
	  dirty = (uint32_t) (reply >> 32);
	  if ((uint32_t) reply == ticket.number + 1)
	    break;
	  /* Release: the host that this wakes sees the request.  */
	  if (!rung && load_relaxed_sys_u32 (&bell->asleep) != 0)
	    {
	      store_release_sys_u32 (&bell->rung, 1);
	      rung = 1;
	    }
	  nap (pause);
	  pause = pause < 1024 ? pause + 32 : pause;
	}
    }
  return from_leader (lanes, dirty);
}

/* Lets the next requester have the slot.  */
static inline void
give_back_slot (struct ticket ticket, struct lanes lanes)
{
  meet (lanes);
  if (lanes.leads)
    store_release_gpu_u32 (&ticket.turn->serving, ticket.number + 1);
}

/* Copies between memory and the inline area, `lanes` together. Volatile: the host may have written what is read.  */
static inline void
copy (void *to, const void *from, uint64_t bytes, struct lanes lanes)
{
  uint64_t align = (uint64_t) to | (uint64_t) from | bytes;
  uint64_t i;
  if ((align & 15) == 0)
    for (i = lanes.first; i < bytes / 16; i += lanes.step)
      {
	uint64_t low, high;
	asm volatile ("ld.volatile.v2.u64 {%0, %1}, [%2];" : "=l"(low), "=l"(high) : "l"((const char *) from + i * 16));
	asm volatile ("st.v2.u64 [%0], {%1, %2};" : : "l"((char *) to + i * 16), "l"(low), "l"(high) : "memory");
      }
  else if ((align & 3) == 0)
    for (i = lanes.first; i < bytes / 4; i += lanes.step)
      ((uint32_t *) to)[i] = ((const volatile uint32_t *) from)[i];
  else
    for (i = lanes.first; i < bytes; i += lanes.step)
      ((uint8_t *) to)[i] = ((const volatile uint8_t *) from)[i];
}

#endif
