/* What a process has of things that it may fail to give back. Link with -ldl. Host code only. Needs `gpu: alone`: what the
   driver says of memory holds for the device, not for the process. */
#ifndef USAGE_H
#define USAGE_H

#include <dirent.h>
#include <dlfcn.h>

#include "check.h"

struct usage {
  int files, threads;
  /* Resident memory, and memory of device 0 that is not free. */
  long kib, device_kib;
};

#define USAGE "%d files, %d threads, %ld KiB, %ld KiB on the device"
#define USAGE_OF(u) (u).files, (u).threads, (u).kib, (u).device_kib

static int count_entries(const char *folder) {
  int n = 0;
  DIR *dir = opendir(folder);
  CHECK(dir, "no %s", folder);
  while (readdir(dir))
    n++;
  closedir(dir);
  return n;
}

static struct usage usage(void) {
  struct usage u = {.files = count_entries("/proc/self/fd"), .threads = count_entries("/proc/self/task")};
  FILE *file = fopen("/proc/self/statm", "r");
  CHECK(file && fscanf(file, "%*d %ld", &u.kib) == 1, "no /proc/self/statm");
  fclose(file);
  u.kib *= 4;
  /* The driver that the plugin has loaded. */
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  CHECK(driver, "%s", dlerror());
  int (*retain)(void **, int) = (int (*)(void **, int))dlsym(driver, "cuDevicePrimaryCtxRetain");
  int (*enter)(void *) = (int (*)(void *))dlsym(driver, "cuCtxSetCurrent");
  int (*info)(size_t *, size_t *) = (int (*)(size_t *, size_t *))dlsym(driver, "cuMemGetInfo_v2");
  CHECK(retain && enter && info, "the driver lacks a function");
  void *context;
  size_t free_bytes, total;
  CHECK(retain(&context, 0) == 0 && enter(context) == 0 && info(&free_bytes, &total) == 0, "cuMemGetInfo failed");
  dlclose(driver);
  u.device_kib = (long)((total - free_bytes) / 1024);
  return u;
}

#endif
