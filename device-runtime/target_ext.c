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

/* What a lane of a warp knows of its word of a compact request.  */
struct word
{
  uint32_t bits;
  uint32_t place; /* the reply's word that brings new contents; 0 if none does */
  uint32_t *variable; /* where those belong */
};

struct target
{
  uint64_t fn;
  uint64_t mapnum;
  const uint64_t *addrs;
  const uint64_t *sizes;
  const uint16_t *kinds;
  int32_t dev_num;
  int is_short;
  int is_compact;
  struct item mine;
  struct word word; /* if it is compact */
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

/* Whether an item travels if it fits, by the rule of rev_wire.h, which the host applies as well.  */
static inline int
travels (uint64_t address, uint64_t size, uint32_t kind)
{
  return address != 0 && size != 0 && (rev_kind_to (kind) || rev_kind_from (kind));
}

/* Room that an item which travels takes in the inline area when `room` is left; 0 if it doesn't fit.  */
static inline uint64_t
inline_bytes (uint64_t size, uint64_t room)
{
  return size > room || align_up (size) > room ? 0 : align_up (size);
}

/* A lane's item. All lanes load theirs at once: one after the other, each load would take as long as all.  */
static inline struct item
own_item (const struct target *target, uint32_t lane)
{
  struct item item = { 0, 0, 0, 0 };
  if (lane < target->mapnum)
    {
      item.address = target->addrs[lane];
      item.size = target->sizes[lane];
      item.kind = target->kinds[lane];
    }
  return item;
}

/* Where a lane's item lies in the inline area; 0 if it doesn't travel.  */
static inline uint32_t
place_of (const struct target *target, struct item item, uint64_t capacity, uint32_t lane)
{
  if (!arrays_fit (target->mapnum, capacity))
    return 0;
  uint32_t items = target->mapnum < REV_MAX_INLINE_ITEMS ? (uint32_t) target->mapnum : REV_MAX_INLINE_ITEMS;
  uint32_t room
    = travels (item.address, item.size, item.kind) ? (uint32_t) inline_bytes (item.size, capacity) : 0;
  uint32_t at = (uint32_t) align_up (target->mapnum * 18), mine = 0;
#pragma nounroll
  for (uint32_t i = 0; i < items; i++)
    {
      uint32_t its_room = from_lane (i, room);
      if (its_room > capacity - at)
	its_room = 0;
      if (i == lane && its_room != 0)
	mine = at;
      at += its_room;
    }
  return mine;
}

/* Whether `posted` has room for function and device number.  */
static inline int
fits_posted (const struct target *target)
{
  return target->fn >> REV_FN_BITS == 0 && (uint32_t) target->dev_num >> REV_DEV_NUM_BITS == 0;
}

/* Whether a warp's request may be compact, by rev_wire.h's rule. `item`: the lane's own; `word`: the lane's of the request, if it may.  */
static inline int
make_compact (const struct target *target, struct item item, uint64_t capacity, uint32_t lane, struct word *word)
{
  uint64_t mapnum = target->mapnum;
  if (mapnum == 0 || mapnum > REV_COMPACT_ITEMS || align_up (mapnum * 18) + mapnum * REV_ITEM_ALIGN > capacity
      || !fits_posted (target))
    return 0;
  /* Words of contents.  */
  uint32_t words = travels (item.address, item.size, item.kind) ? (uint32_t) (item.size / 4) : 0;
  int is_fit = item.address >> REV_ADDRESS_BITS == 0 && item.kind >> REV_KIND_BITS == 0
	       && (words == 0 ? !travels (item.address, item.size, item.kind)
			      : (item.size == 4 || item.size == 8) && item.address % 4 == 0);
  if (lanes_with (is_fit) != ALL_LANES)
    return 0;
  /* From here on the item that this lane's word is of. Where there is none, it is one of size 0.  */
  uint32_t owner = lane / REV_ITEM_WORDS, part = lane % REV_ITEM_WORDS;
  uint64_t address = from_lane_u64 (owner, item.address), size = from_lane_u64 (owner, item.size);
  uint32_t kind = from_lane (owner, item.kind);
  words = from_lane (owner, words);
  int has_contents = part >= 2 && part - 2 < words;
  uint32_t back = lanes_with (has_contents && rev_kind_from (kind));
  if (__builtin_popcount (back) > (int) REV_REPLY_WORDS)
    return 0;
  word->variable = (uint32_t *) address + (part - 2);
  word->place = back >> lane & 1 ? 1 + (uint32_t) __builtin_popcount (back & ((1u << lane) - 1)) : 0;
  word->bits = part == 0 ? (uint32_t) address
	       : part == 1 ? REV_ITEM_HEAD (address, kind, words)
	       : words != 0 ? 0
	       : (uint32_t) (part == 2 ? size : size >> 32);
  if (has_contents && rev_kind_to (kind))
    word->bits = load_fresh_u32 (word->variable);
  return 1;
}

/* Moves the items that lanes `wanted` of a warp have between memory and the inline area: each lane its own where one access does it, the
   rest together.  */
static inline void
move_items (char *area, struct item item, int wanted, int to_area, struct lanes lanes)
{
  const void *from = to_area ? (const void *) item.address : area + item.at;
  void *to = to_area ? area + item.at : (void *) item.address;
  int is_word = (item.size == 4 || item.size == 8) && (item.address & (item.size - 1)) == 0;
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
    if (step_ = travels ((target)->addrs[i], (target)->sizes[i], (target)->kinds[i])                      \
		? inline_bytes ((target)->sizes[i], capacity - at)                                        \
		: 0,                                                                                      \
	step_ != 0)

static inline void
post_nothing_mapped (struct ticket ticket, const void *request, struct lanes lanes)
{
  const struct target *target = request;
  post_short (ticket, (uint32_t) target->dev_num, target->fn, lanes);
}

static inline int
take_nothing (struct ticket ticket, const void *request, struct reply reply, struct lanes lanes)
{
  (void) ticket, (void) request, (void) reply, (void) lanes;
  return 0;
}

static inline __attribute__ ((always_inline)) void
post_target (struct ticket ticket, const void *request, struct lanes lanes)
{
  const struct target *target = request;
  char *area = ticket.area;
  uint64_t capacity = ticket.area_bytes;
  uint64_t mapnum = target->mapnum;
  if (target->is_compact)
    {
      post_words (ticket, (uint32_t) mapnum, (uint32_t) target->dev_num, target->fn, target->word.bits, lanes);
      return;
    }
  if (target->is_short)
    {
      post_nothing_mapped (ticket, request, lanes);
      return;
    }
  int has_inline = arrays_fit (mapnum, capacity);
  const struct rev_request line = { .op = REV_OP_TARGET,
				    .has_inline = (uint32_t) has_inline,
				    .fn = target->fn,
				    .mapnum = mapnum,
				    .addrs = (uint64_t) target->addrs,
				    .sizes = (uint64_t) target->sizes,
				    .kinds = (uint64_t) target->kinds,
				    .dev_num = target->dev_num };
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
  post_long (ticket, lanes);
}

static inline __attribute__ ((always_inline)) int
take_items (struct ticket ticket, const void *request, struct reply reply, struct lanes lanes)
{
  const struct target *target = request;
  uint32_t dirty = reply.dirty;
  if (dirty == 0)
    return 0;
  if (target->is_compact)
    {
      struct word word = target->word;
      int wanted = word.place != 0 && (dirty >> word.place & 1);
      uint32_t contents = word_of_reply (ticket, reply, word.place, wanted, lanes);
      if (wanted)
	*word.variable = contents;
      return 0;
    }
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

/* That number, where the region is known. Several may ask for it, and find the same.  */
static inline int32_t
own_number (void)
{
  uint32_t after = __boomerang_cache.ended_teams;
  if (after == 0)
    __boomerang_cache.ended_teams = after = (uint32_t) __gomp_additional_icvs[0] + 1;
  return (int32_t) (after - 1);
}

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
  struct target target = { .fn = (uint64_t) fn,
			   .mapnum = mapnum,
			   .addrs = (const uint64_t *) hostaddrs,
			   .sizes = (const uint64_t *) sizes,
			   .kinds = kinds,
			   .dev_num = own_number () };
  target.is_short = mapnum == 0 && fits_posted (&target);
  if (!in_lockstep ())
    {
      exchange (&region, &target, post_target, take_items, 1, !target.is_short, lane_alone ());
      return;
    }
  if (target.is_short)
    {
      /* Code of its own: a warp that has a multiprocessor for itself waits for each instruction.  */
      exchange (&region, &target, post_nothing_mapped, take_nothing, 1, 0, lanes_of_warp ());
      return;
    }
  uint32_t lane = __nvvm_read_ptx_sreg_laneid ();
  target.mine = own_item (&target, lane);
  target.is_compact = make_compact (&target, target.mine, region.area_bytes, lane, &target.word);
  if (!target.is_compact)
    target.mine.at = place_of (&target, target.mine, region.area_bytes, lane);
  exchange (&region, &target, post_target, take_items, target.is_compact ? 1 + REV_REPLY_WORDS : 1, !target.is_compact,
	    lanes_of_warp ());
}
