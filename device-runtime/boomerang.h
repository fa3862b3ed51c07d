/* Calling the host from device code: a number that says what is wanted, and some bytes. The host runs the handler that the program
   registered with `boomerang_set_call_handler` (include/gomp_plugin.h), on the thread that
   launched the kernel, or on one of the GOMP_REVERSE_OFFLOAD_THREADS helper threads.

   For all that compiles to PTX: GCC's OpenMP device code, CUDA C (nvcc or clang, compiled to relocatable PTX), PTX by hand.
   Nothing needs to be linked: the plugin adds the functions to every image that names them as it loads it. GCC's device linker alone wants
   to see a definition, and gets one from the libboomerang-device.a that `cargo xtask dist` makes (GOMP_target_ext isn't in there: the
   plugin replaces that in every image):

     gcc -fopenmp -foffload=nvptx-none -foffload-options=nvptx-none="-LDIR -lboomerang-device" ...

   The kernel is one that GOMP_OFFLOAD_run launches (a target region, or a kernel with the same three parameters: arguments,
   soft stacks, bytes of one). In any other, with a plugin that isn't Boomerang's, and where the host runs a target region, nothing is
   called and 0 returned.

   Who calls: in OpenMP code each thread (all lanes of a warp make one call, as they make one request) and, in a `simd` loop, each
   lane; elsewhere each CUDA thread.  */

#ifndef BOOMERANG_H
#define BOOMERANG_H

#include <stdint.h>

#ifdef __CUDACC__
#define BOOMERANG_DEVICE __device__
#else
#define BOOMERANG_DEVICE
#endif

#ifdef __cplusplus
extern "C" {
#endif
#if defined(_OPENMP) && !defined(__CUDACC__)
/* A target region is compiled for the host, too, which must have the functions. By assembly: the device compiler doesn't see it.  */
__attribute__ ((weak, used)) int
boomerang_on_host (void)
{
  return 0;
}
__asm__ (".weak boomerang_call, boomerang_post, boomerang_capacity\n"
	 ".set boomerang_call, boomerang_on_host\n"
	 ".set boomerang_post, boomerang_on_host\n"
	 ".set boomerang_capacity, boomerang_on_host\n");
#pragma omp begin declare target
#endif

/* The most bytes of one call (BOOMERANG_INLINE: docs/environment.md); 0 where nobody serves calls.  */
BOOMERANG_DEVICE uint32_t boomerang_capacity (void);

/* Has the host handle `opcode` with the `bytes` at `data`, and returns when that is done: `data` then holds what the handler left
   there. What the device wrote before is visible to the handler, and what the handler did is visible to the device after.
   1, or 0 without a call if there are more bytes than `boomerang_capacity`.  */
BOOMERANG_DEVICE int boomerang_call (uint32_t opcode, void *data, uint32_t bytes);

/* The same without waiting: `data` may be used again at once. Posts of one caller are handled in their order, before its later calls, and
   all before the end of the kernel is reported. A caller's next post waits until the host has handled the one before.  */
BOOMERANG_DEVICE int boomerang_post (uint32_t opcode, const void *data, uint32_t bytes);

#if defined(_OPENMP) && !defined(__CUDACC__)
#pragma omp end declare target
#endif
#ifdef __cplusplus
}
#endif

#endif
