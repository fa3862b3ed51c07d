/* Memory in a team's shared memory for what libgomp allocates as a team starts: its own structure and that of its threads, and the
   ICVs that `thread_limit` changes. All that is one team's: its barriers, loops and tasks work on it, and find it nearer there.

   plugin/image/team.rs has libgomp's functions call us, and each kernel clear `taken` as it starts.  */

#include <stddef.h>

#include "sys_atomics.h"

extern void *__boomerang_malloc (size_t);
extern void __boomerang_free (void *);

/* What libgomp asks for, with newlib's 8 bytes: 240 for ICVs, 984 and 232 for each thread for a team (GCC 13 to 16).  */
#define SMALL 256
#define LARGE 2848

struct team_memory
{
  uint32_t taken; /* a bit for each of the two */
  uint32_t unused;
  /* newlib's callers get multiples of 16, as from heap.c.  */
  uint8_t small[SMALL] __attribute__ ((aligned (8)));
  uint8_t large[LARGE] __attribute__ ((aligned (8)));
};

_Static_assert (sizeof (struct team_memory) == 3112 && offsetof (struct team_memory, taken) == 0, "plugin/image/team.rs has it");
_Static_assert (offsetof (struct team_memory, small) % 16 == 8 && offsetof (struct team_memory, large) % 16 == 8, "as newlib wants");

__attribute__ ((address_space (3), aligned (16))) struct team_memory team __asm__ ("__boomerang_team");

/* Its generic address.  */
static inline struct team_memory *
team_memory (void)
{
  return (struct team_memory *) &team;
}

/* `bytes` counts the 8 of newlib's.  */
void *
__boomerang_team_malloc (size_t bytes)
{
  struct team_memory *memory = team_memory ();
  for (uint32_t which = 0; which < 2; which++)
    if (bytes <= (which == 0 ? SMALL : LARGE) && (fetch_or_relaxed_gpu_u32 (&memory->taken, 1u << which) >> which & 1) == 0)
      {
	/* Acquire: pairs with the fence below.  */
	fence_cta ();
	return which == 0 ? memory->small : memory->large;
      }
  return __boomerang_malloc (bytes);
}

/* Whatever newlib's free gets.  */
void
__boomerang_team_free (void *pointer)
{
  struct team_memory *memory = team_memory ();
  uint32_t which = pointer == memory->small ? 0 : 1;
  if (which == 1 && pointer != memory->large)
    {
      __boomerang_free (pointer);
      return;
    }
  /* Release: what was done with the memory comes before what its next owner does.  */
  fence_cta ();
  fetch_and_relaxed_gpu_u32 (&memory->taken, ~(1u << which));
}
