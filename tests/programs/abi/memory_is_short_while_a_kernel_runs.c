// boomerang: checks: an allocation that finds memory short while a kernel runs gets what is kept when the kernel has ended
// boomerang: env: BOOMERANG_SIM_MEMORY=64M BOOMERANG_POOL=1T
// boomerang: on: sim
#include <pthread.h>
#include <sched.h>

#include "plugin.h"

#include "image.h"

/* Writes 1 to the word that its variables point at, and counts down from the number behind. */
#define SPIN_PTX                                                                    \
  ".visible .global .align 8 .u64 $offload_func_table[1] = { 0 };\n"                \
  PTX_KERNEL("spin")                                                                \
  "{\n"                                                                             \
  "  .reg .u64 %r, %w, %n; .reg .u32 %x; .reg .pred %p;\n"                          \
  "  ld.param.u64 %r, [vars]; ld.u64 %w, [%r]; ld.u64 %n, [%r+8];\n"                \
  "  mov.u32 %x, 1; st.volatile.u32 [%w], %x; membar.sys;\n"                        \
  "again:\n"                                                                        \
  "  sub.u64 %n, %n, 1; setp.ne.u64 %p, %n, 0; @%p bra again;\n"                    \
  "  ret;\n"                                                                        \
  "}\n"

IMAGE(image, PTX_50 SPIN_PTX, "spin");

enum { MIB = 1 << 20 };

static void *kernel, *variables;

static void *run(void *unused) {
  (void)unused;
  void *args[] = {(void *)(1L << 16 | 1 << 8), (void *)(1L << 16 | 2 << 8), 0};
  PLUGIN(GOMP_OFFLOAD_run)(0, kernel, variables, args);
  return 0;
}

int main(void) {
  start_plugin(0);
  struct addr_pair *table = 0;
  CHECK(PLUGIN(GOMP_OFFLOAD_load_image)(0, IMAGE_VERSION, &image, &table, 0, 0) == 2, "%s", last_error);
  kernel = (void *)table[0].start;
  void *pinned = 0;
  CHECK(PLUGIN(GOMP_OFFLOAD_page_locked_host_alloc)(&pinned, 4), "%s", last_error);
  volatile int *started = pinned;
  *started = 0;
  uint64_t words[] = {(uintptr_t)pinned, 1000000};
  variables = PLUGIN(GOMP_OFFLOAD_alloc)(0, sizeof words);
  CHECK(variables && PLUGIN(GOMP_OFFLOAD_host2dev)(0, variables, words, sizeof words), "%s", last_error);
  char *kept = PLUGIN(GOMP_OFFLOAD_alloc)(0, 50 * MIB);
  CHECK(kept && PLUGIN(GOMP_OFFLOAD_free)(0, kept), "%s", last_error);

  pthread_t thread;
  CHECK(!pthread_create(&thread, 0, run, 0), "no thread");
  while (!*started)
    sched_yield();
  CHECK(PLUGIN(GOMP_OFFLOAD_alloc)(0, 60 * MIB), "what was kept could not be had: %s", last_error);
  pthread_join(thread, 0);
  CHECK(errors == 0, "a message although all went well: %s", last_error);
  return 0;
}
