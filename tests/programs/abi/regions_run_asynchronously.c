// boomerang: checks: GOMP_OFFLOAD_async_run returns before its region has ended, and the host is told of each end once
// boomerang: variants: BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll | BOOMERANG_SIM_MEMOPS=0 | CUDA_DEVICE_MAX_CONNECTIONS=1
#include <sched.h>

#include "plugin.h"

#include "image.h"

/* Waits until the word, which the host writes by itself, is not 0. Not by a copy: where marks behind these kernels hold hardware channels,
   none may get through. */
#define WAIT_PTX                                            \
  ".visible .global .align 8 .u64 $offload_func_table[1] = { 0 };\n" \
  PTX_KERNEL("wait")                                        \
  "{\n"                                                     \
  "  .reg .u64 %r; .reg .u32 %x; .reg .pred %p;\n"          \
  "  ld.param.u64 %r, [vars];\n"                            \
  "again:\n"                                                \
  "  ld.volatile.u32 %x, [%r];\n"                           \
  "  setp.eq.u32 %p, %x, 0;\n"                              \
  "  @%p bra again;\n"                                      \
  "  ret;\n"                                                \
  "}\n"

IMAGE(image, PTX_50 WAIT_PTX, "wait");

enum { REGIONS = 100 };

static _Atomic int ended, ends[REGIONS];

static void task_completion(void *task) {
  int i = (int)((_Atomic int *)task - ends);
  CHECK(i >= 0 && i < REGIONS, "an unknown task has ended");
  CHECK(ends[i]++ == 0, "task %d has ended twice", i);
  ended++;
}

int main(void) {
  static struct boomerang_host_table table = {.size = sizeof table,
                                              .malloc = malloc,
                                              .error = host_error,
                                              .fatal = host_fatal,
                                              .task_completion = task_completion};
  CHECK(PLUGIN(boomerang_set_host_table)(&table), "the host table was refused");
  CHECK(PLUGIN(GOMP_OFFLOAD_get_num_devices)(0) >= 1, "no device: %s", last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_init_device)(0), "device 0 did not start: %s", last_error);
  struct addr_pair *addresses = 0;
  CHECK(PLUGIN(GOMP_OFFLOAD_load_image)(0, IMAGE_VERSION, &image, &addresses, 0, 0) == 2, "%s", last_error);
  void *pinned = 0;
  CHECK(PLUGIN(GOMP_OFFLOAD_page_locked_host_alloc)(&pinned, sizeof(uint32_t)) && pinned, "%s", last_error);
  _Atomic uint32_t *word = pinned;
  *word = 0;
  for (int i = 0; i < REGIONS; i++) {
    /* One team of one thread. They are not needed after the call. */
    void *args[] = {(void *)(1L << 16 | 1 << 8), (void *)(1L << 16 | 2 << 8), 0};
    PLUGIN(GOMP_OFFLOAD_async_run)(0, (void *)addresses[0].start, pinned, args, (void *)&ends[i]);
    args[0] = args[1] = (void *)-1;
  }
  CHECK(ended == 0, "%d regions have ended, which wait for a word that is 0", ended);
  *word = 1;
  while (ended < REGIONS)
    sched_yield();
  CHECK(PLUGIN(GOMP_OFFLOAD_page_locked_host_free)(pinned), "%s", last_error);
  free(addresses);
  CHECK(PLUGIN(GOMP_OFFLOAD_fini_device)(0), "fini: %s", last_error);
  return 0;
}
