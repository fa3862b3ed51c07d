// boomerang: checks: every call leaves the caller's current CUDA context as it was, its own or none
#include "plugin.h"

#include "kernel.h"

IMAGE(image, PTX_50 REPORT_PTX, "report");

static int (*get_current)(void **);
static int (*set_current)(void *);
static void *expected;

#define CHECK_CONTEXT(call)                                                                              \
  do {                                                                                                   \
    void *current_ = 0;                                                                                  \
    CHECK(call, "failed: %s", last_error);                                                               \
    CHECK(get_current(&current_) == 0 && current_ == expected, "left context %p current, not %p", current_, expected); \
  } while (0)

static int launch(void *kernel, void *memory) {
  void *args[] = {(void *)(1L << 16 | 1 << 8), (void *)(1L << 16 | 2 << 8), 0};
  PLUGIN(GOMP_OFFLOAD_run)(0, kernel, memory, args);
  return 1;
}

static void use_everything(void) {
  char bytes[sizeof(struct report)] = {0}, *memory = 0;
  struct addr_pair *table = 0;
  void *pinned = 0;
  CHECK_CONTEXT(set_current(expected) == 0);
  CHECK_CONTEXT(memory = PLUGIN(GOMP_OFFLOAD_alloc)(0, sizeof bytes));
  CHECK_CONTEXT(PLUGIN(GOMP_OFFLOAD_host2dev)(0, memory, bytes, sizeof bytes));
  CHECK_CONTEXT(PLUGIN(GOMP_OFFLOAD_memset)(0, memory, 0, sizeof bytes));
  CHECK_CONTEXT(PLUGIN(GOMP_OFFLOAD_dev2dev)(0, memory, memory + 8, 8));
  CHECK_CONTEXT(PLUGIN(GOMP_OFFLOAD_page_locked_host_alloc)(&pinned, 100));
  CHECK_CONTEXT(PLUGIN(GOMP_OFFLOAD_page_locked_host_free)(pinned));
  CHECK_CONTEXT(PLUGIN(GOMP_OFFLOAD_load_image)(0, IMAGE_VERSION, &image, &table, 0, 0) == 2);
  CHECK_CONTEXT(launch((void *)table[0].start, memory));
  CHECK_CONTEXT(PLUGIN(GOMP_OFFLOAD_dev2host)(0, bytes, memory, sizeof bytes));
  CHECK_CONTEXT(PLUGIN(GOMP_OFFLOAD_unload_image)(0, IMAGE_VERSION, &image));
  CHECK_CONTEXT(PLUGIN(GOMP_OFFLOAD_free)(0, memory));
}

int main(void) {
  start_plugin(0);
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  CHECK(driver, "%s", dlerror());
  int (*create)(void **, unsigned, int) = (__typeof__(create))dlsym(driver, "cuCtxCreate_v2");
  get_current = (__typeof__(get_current))dlsym(driver, "cuCtxGetCurrent");
  set_current = (__typeof__(set_current))dlsym(driver, "cuCtxSetCurrent");
  CHECK(create && get_current && set_current, "the driver lacks a function");

  /* No context current. */
  CHECK(get_current(&expected) == 0 && expected == 0, "starting the device left context %p current", expected);
  use_everything();
  /* A context of the program's own. */
  CHECK(create(&expected, 0, 0) == 0 && expected, "no context of one's own");
  use_everything();
  CHECK_CONTEXT(PLUGIN(GOMP_OFFLOAD_fini_device)(0));
  return 0;
}
