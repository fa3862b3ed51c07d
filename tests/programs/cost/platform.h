/* A platform with round numbers for programs to run on, and the driver's events to see its times by. */
#ifndef PLATFORM_H
#define PLATFORM_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "../check.h"

/* One device: 10 us to enqueue, 5 us to launch, 4 instructions of a thread per ns; copies take 2 us and 10 GB/s. */
#define DEVICE                                                                                                         \
  "[[device]]\nname = \"gpu0\"\nmemory = \"1G\"\nmultiprocessors = 4\nlaunch_us = 5\n"
#define RATE "instructions_per_second = 4e9\n"
#define LINKS                                                                                                          \
  "[[link]]\nfrom = \"host\"\nto = \"gpu0\"\nlatency_us = 2\nbandwidth_gbs = 10\n"                                     \
  "[[link]]\nfrom = \"gpu0\"\nto = \"host\"\nlatency_us = 2\nbandwidth_gbs = 10\n"                                     \
  "[[link]]\nfrom = \"gpu0\"\nto = \"gpu0\"\nlatency_us = 0\nbandwidth_gbs = 100\n"

/* Makes the text this process's platform. Comes before the first use of a device. */
static inline void use_platform(const char *text) {
  FILE *file = fopen("platform.toml", "w");
  CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0, "platform.toml can't be written");
  CHECK(setenv("BOOMERANG_SIM_PLATFORM", "platform.toml", 1) == 0, "setenv");
}

/* A function of the driver. */
static inline void *driver(const char *name) {
  static void *library;
  if (!library)
    library = dlopen("libcuda.so.1", RTLD_NOW);
  CHECK(library, "%s", dlerror());
  void *function = dlsym(library, name);
  CHECK(function, "the driver has no %s", name);
  return function;
}

/* Makes the plugin's context current for the program's own calls of the driver; GCC's plugin leaves its own current. */
static inline void enter_context(void) {
  void *context;
  CHECK(((int (*)(void **))driver("cuCtxGetCurrent"))(&context) == 0, "cuCtxGetCurrent");
  if (context)
    return;
  CHECK(((int (*)(void **, int))driver("cuDevicePrimaryCtxRetain"))(&context, 0) == 0, "cuDevicePrimaryCtxRetain");
  CHECK(((int (*)(void *))driver("cuCtxSetCurrent"))(context) == 0, "cuCtxSetCurrent");
}

/* An event recorded on the legacy default stream. */
static inline void *mark(void) {
  void *event;
  CHECK(((int (*)(void **, unsigned))driver("cuEventCreate"))(&event, 0) == 0, "cuEventCreate");
  CHECK(((int (*)(void *, void *))driver("cuEventRecord"))(event, 0) == 0, "cuEventRecord");
  return event;
}

/* Nanoseconds of virtual time from one event to the other. */
static inline long between(void *from, void *to) {
  float milliseconds;
  CHECK(((int (*)(void *))driver("cuEventSynchronize"))(to) == 0, "cuEventSynchronize");
  CHECK(((int (*)(float *, void *, void *))driver("cuEventElapsedTime"))(&milliseconds, from, to) == 0,
        "cuEventElapsedTime");
  return (long)((double)milliseconds * 1e6 + 0.5);
}

#endif
