/* The public device API, boomerang.h. With BOOMERANG_PLAIN for images that aren't OpenMP's: every CUDA thread acts for itself.  */

#include "boomerang.h"
#include "ring.h"

/* Waits for the host and fetches what its handler left, or goes on.  */
enum reply
{
  WANTED,
  UNWANTED
};

static inline __attribute__ ((always_inline)) void
make (const struct rev_region *region, uint32_t opcode, void *data, uint32_t bytes, enum reply reply, struct lanes lanes)
{
  struct ticket ticket = take_slot (region, lanes);
  const struct rev_request request = { .op = REV_OP_USER, .fn = opcode, .mapnum = bytes };
  fill (ticket, &request, lanes);
  copy (ticket.area, data, bytes, lanes);
  post (ticket, 0, 0, lanes);
  if (reply == UNWANTED)
    {
      leave_slot (ticket, lanes);
      return;
    }
  wait_for_reply (ticket, lanes);
  copy (data, ticket.area, bytes, lanes);
  give_back_slot (ticket, lanes);
}

static inline __attribute__ ((always_inline)) int
call (uint32_t opcode, void *data, uint32_t bytes, enum reply reply)
{
  struct rev_region region;
  if (!find_region (&region) || bytes > region.area_bytes)
    return 0;
#ifndef BOOMERANG_PLAIN
  if (in_lockstep ())
    {
      make (&region, opcode, data, bytes, reply, lanes_of_warp ());
      return 1;
    }
#endif
  FOR_EACH_LANE (make (&region, opcode, data, bytes, reply, lane_alone ()));
  return 1;
}

int
boomerang_call (uint32_t opcode, void *data, uint32_t bytes)
{
  return call (opcode, data, bytes, WANTED);
}

int
boomerang_post (uint32_t opcode, const void *data, uint32_t bytes)
{
  return call (opcode, (void *) data, bytes, UNWANTED);
}

uint32_t
boomerang_capacity (void)
{
  struct rev_region region;
  return find_region (&region) ? region.area_bytes : 0;
}
