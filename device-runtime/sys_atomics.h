/* Ordered accesses, named by order and scope. From sm_70 on they are instructions; before, a fence and a volatile access do the
   same. Inline assembly: LLVM's NVPTX back end drops order or scope of C11 atomics. BOOMERANG_SM is the -march number.  */

#ifndef BOOMERANG_SYS_ATOMICS_H
#define BOOMERANG_SYS_ATOMICS_H

#include <stdint.h>

/* Acquire: pairs with a release store that it reads from; what came before that store is seen by what comes after the load.  */

typedef __attribute__ ((address_space (3))) uint32_t shared_u32;

static inline uint32_t
load_acquire_cta_shared_u32 (const shared_u32 *address)
{
  uint32_t value;
#if BOOMERANG_SM >= 70
  asm volatile ("ld.acquire.cta.shared.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
#else
  asm volatile ("ld.volatile.shared.u32 %0, [%1]; membar.cta;" : "=r"(value) : "l"(address) : "memory");
#endif
  return value;
}

static inline uint32_t
load_acquire_gpu_u32 (const void *address)
{
  uint32_t value;
#if BOOMERANG_SM >= 70
  asm volatile ("ld.acquire.gpu.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
#else
  asm volatile ("ld.volatile.u32 %0, [%1]; membar.gl;" : "=r"(value) : "l"(address) : "memory");
#endif
  return value;
}

static inline uint64_t
load_acquire_sys_u64 (const void *address)
{
  uint64_t value;
#if BOOMERANG_SM >= 70
  asm volatile ("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
#else
  asm volatile ("ld.volatile.u64 %0, [%1]; membar.sys;" : "=l"(value) : "l"(address) : "memory");
#endif
  return value;
}

/* Relaxed: a value that is only a hint, or that nobody else writes meanwhile, or that says itself what it belongs to.  */

static inline uint32_t
load_relaxed_sys_u32 (const void *address)
{
  uint32_t value;
  asm volatile ("ld.volatile.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

static inline uint64_t
load_relaxed_sys_u64 (const void *address)
{
  uint64_t value;
  asm volatile ("ld.volatile.u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
  return value;
}

/* What was written before the last acquire. `LOAD_FRESH`: the instruction.  */

#if BOOMERANG_SM >= 70
#define LOAD_FRESH "ld"
#else
#define LOAD_FRESH "ld.volatile"
#endif

static inline uint32_t
load_fresh_u32 (const void *address)
{
  uint32_t value;
  asm volatile (LOAD_FRESH ".u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return value;
}

static inline uint64_t
load_fresh_u64 (const void *address)
{
  uint64_t value;
  asm volatile (LOAD_FRESH ".u64 %0, [%1];" : "=l"(value) : "l"(address) : "memory");
  return value;
}

static inline uint8_t
load_fresh_u8 (const void *address)
{
  uint32_t value;
  asm volatile (LOAD_FRESH ".u8 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
  return (uint8_t) value;
}

/* Release: everything that this thread did, or has synchronised with, comes before the store.  */

static inline void
store_release_cta_shared_u32 (shared_u32 *address, uint32_t value)
{
#if BOOMERANG_SM >= 70
  asm volatile ("st.release.cta.shared.u32 [%0], %1;" : : "l"(address), "r"(value) : "memory");
#else
  asm volatile ("membar.cta; st.volatile.shared.u32 [%0], %1;" : : "l"(address), "r"(value) : "memory");
#endif
}

static inline void
store_release_gpu_u32 (void *address, uint32_t value)
{
#if BOOMERANG_SM >= 70
  asm volatile ("st.release.gpu.u32 [%0], %1;" : : "l"(address), "r"(value) : "memory");
#else
  asm volatile ("membar.gl; st.volatile.u32 [%0], %1;" : : "l"(address), "r"(value) : "memory");
#endif
}

static inline void
store_release_sys_u32 (void *address, uint32_t value)
{
#if BOOMERANG_SM >= 70
  asm volatile ("st.release.sys.u32 [%0], %1;" : : "l"(address), "r"(value) : "memory");
#else
  asm volatile ("membar.sys; st.volatile.u32 [%0], %1;" : : "l"(address), "r"(value) : "memory");
#endif
}

static inline void
store_release_sys_u64 (void *address, uint64_t value)
{
#if BOOMERANG_SM >= 70
  asm volatile ("st.release.sys.u64 [%0], %1;" : : "l"(address), "l"(value) : "memory");
#else
  asm volatile ("membar.sys; st.volatile.u64 [%0], %1;" : : "l"(address), "l"(value) : "memory");
#endif
}

/* What this thread wrote before is seen by its team before what it writes after.  */
static inline void
fence_cta (void)
{
  asm volatile ("membar.cta;" : : : "memory");
}

/* Atomic among the device's threads; orders nothing.  */

static inline uint32_t
fetch_add_relaxed_gpu_u32 (void *address, uint32_t value)
{
  uint32_t old;
  asm volatile ("atom.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(address), "r"(value) : "memory");
  return old;
}

#define ALL_LANES 0xffffffffu

/* The lanes that execute this together.  */
static inline uint32_t
active_lanes (void)
{
  uint32_t lanes;
#if BOOMERANG_SM >= 70
  asm volatile ("activemask.b32 %0;" : "=r"(lanes) : : "memory");
#else
  asm volatile ("vote.ballot.b32 %0, 1;" : "=r"(lanes) : : "memory");
#endif
  return lanes;
}

/* Whether one of `lanes`, which all come here, has a true condition.  */
static inline int
any_lane (uint32_t lanes, int condition)
{
#if BOOMERANG_SM >= 70
  return __nvvm_vote_any_sync (lanes, condition);
#else
  int any;
  (void) lanes;
  asm volatile ("{ .reg .pred %%p; setp.ne.s32 %%p, %1, 0; vote.any.pred %%p, %%p; selp.s32 %0, 1, 0, %%p; }"
		: "=r"(any) : "r"(condition) : "memory");
  return any;
#endif
}

/* The lanes of a full warp that have a true condition.  */
static inline uint32_t
lanes_with (int condition)
{
  uint32_t lanes;
#if BOOMERANG_SM >= 70
  asm volatile ("{ .reg .pred %%p; setp.ne.s32 %%p, %1, 0; vote.sync.ballot.b32 %0, %%p, 0xffffffff; }"
		: "=r"(lanes) : "r"(condition) : "memory");
#else
  asm volatile ("{ .reg .pred %%p; setp.ne.s32 %%p, %1, 0; vote.ballot.b32 %0, %%p; }"
		: "=r"(lanes) : "r"(condition) : "memory");
#endif
  return lanes;
}

/* Lanes meet: what the others did before is seen after. Before sm_70 they never part.  */
static inline void
warp_sync (uint32_t lanes)
{
#if BOOMERANG_SM >= 70
  asm volatile ("bar.warp.sync %0;" : : "r"(lanes) : "memory");
#else
  (void) lanes;
#endif
}

/* A lane's value, in every lane of a full warp.  */
static inline uint32_t
from_lane (uint32_t lane, uint32_t value)
{
  uint32_t there;
#if BOOMERANG_SM >= 70
  asm volatile ("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(there) : "r"(value), "r"(lane) : "memory");
#else
  asm volatile ("shfl.idx.b32 %0, %1, %2, 0x1f;" : "=r"(there) : "r"(value), "r"(lane) : "memory");
#endif
  return there;
}

static inline uint64_t
from_lane_u64 (uint32_t lane, uint64_t value)
{
  return (uint64_t) from_lane (lane, (uint32_t) (value >> 32)) << 32 | from_lane (lane, (uint32_t) value);
}

/* Cycles of the multiprocessor, from some time on.  */
static inline uint32_t
cycles (void)
{
  uint32_t now;
  asm volatile ("mov.u32 %0, %%clock;" : "=r"(now) : : "memory");
  return now;
}

/* Leaves the multiprocessor to other warps for about `nanoseconds`.  */
static inline void
nap (uint32_t nanoseconds)
{
#if BOOMERANG_SM >= 70
  asm volatile ("nanosleep.u32 %0;" : : "r"(nanoseconds));
#else
  (void) nanoseconds;
#endif
}

/* What this thread did, or has synchronised with, comes before what it does after, for the threads of the device: with an atomic
   access after it, a release; with one before it, an acquire.  */
static inline void
fence_gpu (void)
{
#if BOOMERANG_SM >= 70
  asm volatile ("fence.acq_rel.gpu;" : : : "memory");
#else
  asm volatile ("membar.gl;" : : : "memory");
#endif
}

/* The same for the host as well.  */
static inline void
fence_sys (void)
{
#if BOOMERANG_SM >= 70
  asm volatile ("fence.acq_rel.sys;" : : : "memory");
#else
  asm volatile ("membar.sys;" : : : "memory");
#endif
}

/* Atomic among the device's threads; order nothing.  */

static inline void
store_relaxed_u32 (void *address, uint32_t value)
{
  asm volatile ("st.volatile.u32 [%0], %1;" : : "l"(address), "r"(value) : "memory");
}

static inline void
store_relaxed_u64 (void *address, uint64_t value)
{
  asm volatile ("st.volatile.u64 [%0], %1;" : : "l"(address), "l"(value) : "memory");
}

static inline uint32_t
compare_exchange_relaxed_gpu_u32 (void *address, uint32_t expected, uint32_t value)
{
  uint32_t old;
  asm volatile ("atom.cas.b32 %0, [%1], %2, %3;" : "=r"(old) : "l"(address), "r"(expected), "r"(value) : "memory");
  return old;
}

static inline uint32_t
fetch_or_relaxed_gpu_u32 (void *address, uint32_t bits)
{
  uint32_t old;
  asm volatile ("atom.or.b32 %0, [%1], %2;" : "=r"(old) : "l"(address), "r"(bits) : "memory");
  return old;
}

static inline uint32_t
fetch_and_relaxed_gpu_u32 (void *address, uint32_t bits)
{
  uint32_t old;
  asm volatile ("atom.and.b32 %0, [%1], %2;" : "=r"(old) : "l"(address), "r"(bits) : "memory");
  return old;
}

static inline void
max_relaxed_gpu_u32 (void *address, uint32_t value)
{
  asm volatile ("red.max.u32 [%0], %1;" : : "l"(address), "r"(value) : "memory");
}

#endif
