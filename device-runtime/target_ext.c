/* `target device(ancestor: 1)` in device code: what GCC calls for it, in place of libgomp's own.  */

#include "ring.h"

/* GOMP_DEVICE_HOST_FALLBACK (GCC's include/gomp-constants.h): the ancestor.  */
#define DEVICE_ANCESTOR (-2)

struct target
{
  uint64_t fn;
  uint64_t mapnum;
  const uint64_t *addrs;
  const uint64_t *sizes;
  const uint16_t *kinds;
  int32_t dev_num;
};

static inline uint64_t
align_up (uint64_t value)
{
  return (value + REV_ITEM_ALIGN - 1) & ~(uint64_t) (REV_ITEM_ALIGN - 1);
}

/* Calls `move` for each item that travels inline: the rule of rev_wire.h, which the host applies as well.  */
#define FOR_INLINE_ITEMS(target, capacity, i, at)                                                         \
  _Pragma ("nounroll")                                                                                    \
  for (uint64_t i = 0, at = align_up ((target)->mapnum * 18), step_;                                      \
       i < (target)->mapnum && i < REV_MAX_INLINE_ITEMS; i++, at += step_)                                \
    if (step_ = inline_bytes (target, i, capacity - at), step_ != 0)

/* Room that item `i` takes when `room` is left; 0 if it doesn't travel.  */
static inline uint64_t
inline_bytes (const struct target *target, uint64_t i, uint64_t room)
{
  uint64_t size = target->sizes[i];
  uint32_t kind = target->kinds[i];
  if (target->addrs[i] == 0 || size > room || align_up (size) > room || !(rev_kind_to (kind) || rev_kind_from (kind)))
    return 0;
  return align_up (size);
}

static inline void
post_target (struct ticket ticket, const void *request, struct lanes lanes)
{
  const struct target *target = request;
  char *area = ticket.area;
  uint64_t capacity = ticket.area_bytes;
  uint64_t mapnum = target->mapnum;
  int has_inline = mapnum != 0 && mapnum <= capacity / 18 && align_up (mapnum * 18) <= capacity;
  /* Does it fit into one word?  */
  int is_short = mapnum == 0 && target->fn >> REV_FN_BITS == 0 && (uint32_t) target->dev_num >> REV_DEV_NUM_BITS == 0;
  const struct rev_request line = { .op = REV_OP_TARGET,
				    .has_inline = (uint32_t) has_inline,
				    .fn = target->fn,
				    .mapnum = mapnum,
				    .addrs = (uint64_t) target->addrs,
				    .sizes = (uint64_t) target->sizes,
				    .kinds = (uint64_t) target->kinds,
				    .dev_num = target->dev_num };
  if (!is_short)
    fill (ticket, &line, lanes);
  if (has_inline)
    {
#pragma nounroll
      for (uint64_t i = lanes.first; i < mapnum; i += lanes.step)
	{
	  ((uint64_t *) area)[i] = target->addrs[i];
	  ((uint64_t *) area)[mapnum + i] = target->sizes[i];
	  ((uint16_t *) ((uint64_t *) area + 2 * mapnum))[i] = target->kinds[i];
	}
      FOR_INLINE_ITEMS (target, capacity, i, at)
	if (rev_kind_to (target->kinds[i]))
	  copy (area + at, (const void *) target->addrs[i], target->sizes[i], lanes);
    }
  if (is_short)
    post (ticket, (uint32_t) target->dev_num, target->fn, lanes);
  else
    post (ticket, 0, 0, lanes);
}

static inline int
take_items (struct ticket ticket, const void *request, uint32_t dirty, struct lanes lanes)
{
  const struct target *target = request;
  if (dirty != 0)
    FOR_INLINE_ITEMS (target, ticket.area_bytes, i, at)
      if (dirty >> i & 1)
	copy ((void *) target->addrs[i], ticket.area + at, target->sizes[i], lanes);
  return dirty != 0;
}

/* libgomp's GOMP_ADDITIONAL_ICVS, which every image has that uses OpenMP on the device. Its first member is the number of the device
   that runs this, as the host counts (struct gomp_offload_icvs, libgomp 13 to 16).  */
extern const volatile int32_t __gomp_additional_icvs[4];

void
GOMP_target_ext (int device, void (*fn) (void *), size_t mapnum, void **hostaddrs, size_t *sizes, unsigned short *kinds,
		 unsigned int flags, void **depend, void **args)
{
  (void) flags;
  (void) depend;
  (void) args;
  struct rev_region region;
  if (device != DEVICE_ANCESTOR || fn == 0 || !find_region (&region))
    return;
  const struct target target = { (uint64_t) fn, mapnum, (const uint64_t *) hostaddrs, (const uint64_t *) sizes, kinds,
				 __gomp_additional_icvs[0] };
  if (in_lockstep ())
    exchange (&region, &target, post_target, take_items, lanes_of_warp ());
  else
    exchange (&region, &target, post_target, take_items, lane_alone ());
}
