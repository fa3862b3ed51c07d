/* The little of the CUDA driver's interface that benches use by themselves; the numbers are those of cuda.h. */
#ifndef RAW_H
#define RAW_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { HOST_PORTABLE = 1, HOST_MAPPED = 2, NON_BLOCKING = 1, BLOCKING_EVENT = 1 };

static inline void check(int error, const char *what) {
  if (error) {
    fprintf(stderr, "%s failed with %d\n", what, error);
    exit(1);
  }
}

static inline void *raw_function(const char *name) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  void *found = driver ? dlsym(driver, name) : 0;
  if (!found) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  return found;
}

#define RAW(result, name, ...) ((result(*)(__VA_ARGS__))raw_function(#name))

/* Makes the primary context of the first device current, in place of `before`. */
static inline void raw_start_context(void **before) {
  void *context;
  check(RAW(int, cuInit, unsigned)(0), "cuInit");
  check(RAW(int, cuCtxGetCurrent, void **)(before), "cuCtxGetCurrent");
  check(RAW(int, cuDevicePrimaryCtxRetain, void **, int)(&context, 0), "cuDevicePrimaryCtxRetain");
  check(RAW(int, cuCtxSetCurrent, void *)(context), "cuCtxSetCurrent");
}

/* Page-locked memory for all contexts, the plugin's among them. */
static inline void *raw_pinned(size_t bytes) {
  void *memory, *before;
  raw_start_context(&before);
  check(RAW(int, cuMemHostAlloc, void **, size_t, unsigned)(&memory, bytes, HOST_PORTABLE | HOST_MAPPED), "cuMemHostAlloc");
  check(RAW(int, cuCtxSetCurrent, void *)(before), "cuCtxSetCurrent");
  return memory;
}

#endif
