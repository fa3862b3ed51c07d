// boomerang: checks: large copies are right from and to every kind of host memory: ordinary, on the stack, read-only, of files, mapped anew at the same address, page-locked and managed
// boomerang: variants: BOOMERANG_SIM_FAIL=cuMemHostAlloc=2 | BOOMERANG_SIM_FAIL=cuMemHostAlloc#6=2 | CUDA_DEVICE_MAX_CONNECTIONS=1
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "plugin.h"

/* No multiple of any buffer's size. */
enum { SIZE = (9 << 20) + 4321 };

static char *device;

static unsigned char pattern(size_t i, int seed) { return (unsigned char)(i * 31 + i / 255 + (size_t)seed); }

static void fill(unsigned char *memory, int seed) {
  for (size_t i = 0; i < SIZE; i++)
    memory[i] = pattern(i, seed);
}

static void check(const unsigned char *memory, int seed, const char *what) {
  for (size_t i = 0; i < SIZE; i++)
    CHECK(memory[i] == pattern(i, seed), "%s: byte %zu is %d", what, i, memory[i]);
}

static void put(const void *from, const char *what) {
  CHECK(PLUGIN(GOMP_OFFLOAD_host2dev)(0, device, from, SIZE), "%s: %s", what, last_error);
}

static void get(void *to, const char *what) {
  CHECK(PLUGIN(GOMP_OFFLOAD_dev2host)(0, to, device, SIZE), "%s: %s", what, last_error);
}

static unsigned char *map(void *address, int protection, int flags, int file) {
  unsigned char *memory = mmap(address, SIZE, protection, flags, file, 0);
  CHECK(memory != MAP_FAILED, "mmap failed");
  return memory;
}

static void use_stack(void) {
  unsigned char array[SIZE];
  fill(array, 1);
  put(array, "stack");
  memset(array, 0, SIZE);
  get(array, "stack");
  check(array, 1, "stack");
}

static void *on_large_stack(void *unused) {
  (void)unused;
  use_stack();
  return 0;
}

int main(void) {
  start_plugin(0);
  device = PLUGIN(GOMP_OFFLOAD_alloc)(0, SIZE);
  unsigned char *out = malloc(SIZE);
  CHECK(device && out, "no memory: %s", last_error);

  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, SIZE + (1 << 20));
  CHECK(!pthread_create(&thread, &attributes, on_large_stack, 0), "no thread");
  pthread_join(thread, 0);

  /* A file, mapped for reading only, and for writing. */
  char name[] = "fileXXXXXX";
  int file = mkstemp(name);
  CHECK(file >= 0 && !unlink(name) && !ftruncate(file, SIZE), "no file");
  unsigned char *written = map(0, PROT_READ | PROT_WRITE, MAP_SHARED, file), *read = map(0, PROT_READ, MAP_SHARED, file);
  fill(written, 2);
  put(read, "read-only file");
  memset(written, 0, SIZE);
  get(written, "file");
  check(read, 2, "file");

  /* Something else at the same address, again and again. */
  for (int seed = 3; seed < 6; seed++) {
    map(read, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1);
    fill(read, seed);
    put(read, "mapped anew");
    get(out, "mapped anew");
    check(out, seed, "mapped anew");
  }
  map(read, PROT_READ, MAP_SHARED | MAP_FIXED, file);
  put(read, "the file again");
  get(out, "the file again");
  check(out, 2, "the file again");

  void *pinned = 0;
  CHECK(PLUGIN(GOMP_OFFLOAD_page_locked_host_alloc)(&pinned, SIZE), "%s", last_error);
  unsigned char *kinds[] = {pinned, PLUGIN(GOMP_OFFLOAD_managed_alloc)(0, SIZE)};
  for (int k = 0; k < 2; k++) {
    /* There may be no page-locked memory. */
    if (!kinds[k])
      continue;
    fill(kinds[k], 6 + k);
    put(kinds[k], "page-locked or managed");
    memset(kinds[k], 0, SIZE);
    get(kinds[k], "page-locked or managed");
    check(kinds[k], 6 + k, "page-locked or managed");
  }
  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_host2dev)(0, device + 1, out, SIZE), "invalid size");
  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_dev2host)(0, out, (void *)0x123456789000, SIZE), "cuMemcpy");
  put(written, "after an error");
  CHECK(errors == 0, "a message although all went well: %s", last_error);
  return 0;
}
