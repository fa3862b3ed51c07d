/* Images with PTX of our own. */
#ifndef IMAGE_H
#define IMAGE_H

#include <gomp_plugin.h>

#include "plugin.h"

/* GOMP_VERSION_PACK(3, 1): GCC 14 to 16. */
#define IMAGE_VERSION (3u << 16 | 1u)

/* An image of one PTX text, without variables, with one kernel. */
#define IMAGE(name, ptx_text, kernel_name)                                               \
  static const struct boomerang_ptx_object name##_object = {ptx_text, sizeof(ptx_text)}; \
  static const struct boomerang_function name##_kernel = {kernel_name, {0, 0, 0}};       \
  static const struct boomerang_image name = {&name##_object, 1, 0, 0, &name##_kernel, 1, 0}

#define PTX_50 ".version 6.0\n.target sm_50\n.address_size 64\n"
#define PTX_70 ".version 6.0\n.target sm_70\n.address_size 64\n"

/* The parameters of every kernel: the mapped variables, the soft stacks of the grid, the bytes of one. */
#define PTX_KERNEL(name) ".visible .entry " name "(.param .u64 vars, .param .u64 stacks, .param .u64 stack_size)\n"

/* A kernel that does nothing, and the table of functions that reverse offload may ask for: none. */
#define PTX_NOTHING PTX_KERNEL("nothing") "{ ret; }\n.visible .global .align 8 .u64 $offload_func_table[1] = { 0 };\n"

/* Loads an image with one kernel and runs that, with one team of one thread. */
static inline void run_kernel(const struct boomerang_image *image) {
  struct addr_pair *table = 0;
  void *args[] = {(void *)(1L << 16 | 1 << 8), (void *)(1L << 16 | 2 << 8), 0};
  CHECK(PLUGIN(GOMP_OFFLOAD_load_image)(0, IMAGE_VERSION, image, &table, 0, 0) == 2, "%s", last_error);
  PLUGIN(GOMP_OFFLOAD_run)(0, (void *)table[0].start, 0, args);
}

#endif
