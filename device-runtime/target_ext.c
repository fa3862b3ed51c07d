/* `target device(ancestor: 1)` in device code: what GCC calls for it, in place of libgomp's own.  */

#include "ring.h"

/* GOMP_DEVICE_HOST_FALLBACK (GCC's include/gomp-constants.h): the ancestor.  */
#define DEVICE_ANCESTOR (-2)

/* What a lane of a warp knows of its item: the one of its own number. None but for size 0.  */
struct item
{
  uint64_t address;
  uint64_t size;
  uint32_t kind;
  uint32_t at; /* where it lies in the inline area; 0 if it doesn't travel */
};

struct target
{
  uint64_t fn;
  uint64_t mapnum;
  const uint64_t *addrs;
  const uint64_t *sizes;
  const uint16_t *kinds;
  int32_t dev_num;
  struct item mine;
};

static inline uint64_t
align_up (uint64_t value)
{
  return (value + REV_ITEM_ALIGN - 1) & ~(uint64_t) (REV_ITEM_ALIGN - 1);
}

/* Whether the arrays fit into the inline area.  */
static inline int
arrays_fit (uint64_t mapnum, uint64_t capacity)
{
  return mapnum != 0 && mapnum <= capacity / 18 && align_up (mapnum * 18) <= capacity;
}

static inline int
moves (uint64_t address, uint32_t kind)
{
  return address != 0 && (rev_kind_to (kind) || rev_kind_from (kind));
}

/* A lane's item. The rule which items travel is that of rev_wire.h, which the host applies as well. All lanes load theirs at once: one
   after the other, each load would take as long as all.  */
static inline struct item
own_item (const struct target *target, uint64_t capacity, uint32_t lane)
{
  struct item item = { 0, 0, 0, 0 };
  if (!arrays_fit (target->mapnum, capacity))
    return item;
  uint32_t items = target->mapnum < REV_MAX_INLINE_ITEMS ? (uint32_t) target->mapnum : REV_MAX_INLINE_ITEMS;
  uint32_t room = 0;
  if (lane < items)
    {
      item.address = target->addrs[lane];
      item.size = target->sizes[lane];
      item.kind = target->kinds[lane];
      room = item.size <= capacity && moves (item.address, item.kind) ? (uint32_t) align_up (item.size) : 0;
    }
  uint32_t at = (uint32_t) align_up (target->mapnum * 18);
#pragma nounroll
  for (uint32_t i = 0; i < items; i++)
    {
      uint32_t its_room = from_lane (i, room);
      if (its_room > capacity - at)
	its_room = 0;
      if (i == lane && its_room != 0)
	item.at = at;
      at += its_room;
    }
  return item;
}

/* Moves the items that lanes `wanted` of a warp have between memory and the inline area: each lane its own where one access does it, the
   rest together.  */
static inline void
move_items (char *area, struct item item, int wanted, int to_area, struct lanes lanes)
{
  const void *from = to_area ? (const void *) item.address : area + item.at;
  void *to = to_area ? area + item.at : (void *) item.address;
  int is_word = (item.size == 4 || item.size == 8) && item.address % item.size == 0;
  if (wanted && is_word && item.size == 4)
    *(uint32_t *) to = load_fresh_u32 (from);
  else if (wanted && is_word)
    *(uint64_t *) to = load_fresh_u64 (from);
#pragma nounroll
  for (uint32_t others = lanes_with (wanted && !is_word); others != 0; others &= others - 1)
    {
      uint32_t i = (uint32_t) __builtin_ctz (others);
      copy ((void *) from_lane_u64 (i, (uint64_t) to), (const void *) from_lane_u64 (i, (uint64_t) from),
	    from_lane_u64 (i, item.size), lanes);
    }
}

/* Calls `move` for each item that travels inline, in code of a lane for itself.  */
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
  if (size > room || align_up (size) > room || !moves (target->addrs[i], target->kinds[i]))
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
  int has_inline = arrays_fit (mapnum, capacity);
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
      if (lanes.step != 1)
	move_items (area, target->mine, target->mine.at != 0 && rev_kind_to (target->mine.kind), 1, lanes);
      else
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
  if (dirty == 0)
    return 0;
  if (lanes.step != 1)
    move_items (ticket.area, target->mine, target->mine.at != 0 && (dirty >> lanes.first & 1), 0, lanes);
  else
    FOR_INLINE_ITEMS (target, ticket.area_bytes, i, at)
      if (dirty >> i & 1)
	copy ((void *) target->addrs[i], ticket.area + at, target->sizes[i], lanes);
  return 1;
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
  struct target target = { (uint64_t) fn, mapnum, (const uint64_t *) hostaddrs, (const uint64_t *) sizes, kinds,
			   __gomp_additional_icvs[0], { 0, 0, 0, 0 } };
  if (in_lockstep ())
    {
      target.mine = own_item (&target, region.area_bytes, __nvvm_read_ptx_sreg_laneid ());
      exchange (&region, &target, post_target, take_items, lanes_of_warp ());
    }
  else
    exchange (&region, &target, post_target, take_items, lane_alone ());
}
