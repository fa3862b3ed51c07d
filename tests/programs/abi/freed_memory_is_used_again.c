// boomerang: checks: an allocation of about the size of freed memory takes it without a driver call, and every block is an allocation of the driver's by itself, which CUDA IPC can export
// boomerang: env: BOOMERANG_SIM_CALLS=1
// boomerang: on: sim
// boomerang: stderr: cuMemAlloc_v2 was called 8 times
// boomerang: not-stderr: cuMemFree
#include "plugin.h"

enum { ROUNDS = 1000 };

/* CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE */
enum { IPC_CAPABLE = 10 };

typedef unsigned retain_function(void **context, int device);
typedef unsigned current_function(void *context);
typedef unsigned attribute_function(void *value, int attribute, uint64_t address);
typedef unsigned range_function(uint64_t *start, size_t *size, uint64_t address);

static void *driver_function(const char *name) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), *function = driver ? dlsym(driver, name) : 0;
  CHECK(function, "no %s: %s", name, dlerror());
  return function;
}

static char *allocate(size_t size) {
  char *memory = PLUGIN(GOMP_OFFLOAD_alloc)(0, size);
  CHECK(memory, "%zu bytes: %s", size, last_error);
  return memory;
}

int main(void) {
  start_plugin(0);
  retain_function *retain = driver_function("cuDevicePrimaryCtxRetain");
  current_function *set_current = driver_function("cuCtxSetCurrent");
  void *context = 0;
  CHECK(!retain(&context, 0) && !set_current(context), "no context");
  attribute_function *attribute = driver_function("cuPointerGetAttribute");
  range_function *range = driver_function("cuMemGetAddressRange_v2");
  size_t sizes[] = {1, 1000, 4 << 20, 256 << 20};
  for (int s = 0; s < 4; s++) {
    size_t size = sizes[s];
    /* The second one stays. */
    char *memory = allocate(size), *other = allocate(size);
    CHECK(memory != other && (uintptr_t)memory % 256 == 0, "%zu bytes at %p and %p", size, (void *)memory, (void *)other);
    for (int i = 0; i < ROUNDS; i++) {
      CHECK(PLUGIN(GOMP_OFFLOAD_free)(0, memory), "free: %s", last_error);
      char *again = allocate(size - (size_t)i % (1 + size / 9));
      CHECK(again == memory, "%zu bytes at %p were not used again, but %p", size, (void *)memory, (void *)again);
    }
    unsigned char exportable = 0;
    uint64_t start = 0;
    size_t whole = 0;
    CHECK(!attribute(&exportable, IPC_CAPABLE, (uintptr_t)memory) && exportable, "%zu bytes cannot be exported", size);
    CHECK(!range(&start, &whole, (uintptr_t)memory + size - 1), "%zu bytes: no range", size);
    CHECK(start == (uintptr_t)memory, "%zu bytes at %p are a part of %p", size, (void *)memory, (void *)(uintptr_t)start);
    CHECK(whole - size < 256 || whole - size <= size / 8, "%zu bytes have %zu", size, whole);
  }
  CHECK(errors == 0, "a message although all went well: %s", last_error);
  return 0;
}
