/* The public device API, boomerang.h. With BOOMERANG_PLAIN for images that aren't OpenMP's: every CUDA thread acts for itself.  */

#include "boomerang.h"
#include "ring.h"

struct call
{
  uint32_t opcode;
  uint32_t bytes;
  void *data;
};

static inline void
post_call (struct ticket ticket, const void *request, struct lanes lanes)
{
  const struct call *call = request;
  const struct rev_request line = { .op = REV_OP_USER, .fn = call->opcode, .mapnum = call->bytes };
  fill (ticket, &line, lanes);
  copy (ticket.area, call->data, call->bytes, lanes);
  post_long (ticket, lanes);
}

static inline int
take_answer (struct ticket ticket, const void *request, struct reply reply, struct lanes lanes)
{
  const struct call *call = request;
  (void) reply;
  copy (call->data, ticket.area, call->bytes, lanes);
  return 1;
}

static inline __attribute__ ((always_inline)) int
make (uint32_t opcode, void *data, uint32_t bytes, taker *take_it)
{
  struct rev_region region;
  const struct call call = { opcode, bytes, data };
  if (!find_region (&region) || bytes > region.area_bytes)
    return 0;
#ifndef BOOMERANG_PLAIN
  if (in_lockstep ())
    {
      exchange (&region, &call, post_call, take_it, 1, 1, lanes_of_warp ());
      return 1;
    }
#endif
  exchange (&region, &call, post_call, take_it, 1, 1, lane_alone ());
  return 1;
}

int
boomerang_call (uint32_t opcode, void *data, uint32_t bytes)
{
  return make (opcode, data, bytes, take_answer);
}

int
boomerang_post (uint32_t opcode, const void *data, uint32_t bytes)
{
  return make (opcode, (void *) data, bytes, 0);
}

uint32_t
boomerang_capacity (void)
{
  struct rev_region region;
  return find_region (&region) ? region.area_bytes : 0;
}
