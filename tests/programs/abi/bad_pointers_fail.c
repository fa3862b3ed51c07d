// boomerang: checks: pointers that are not the device's, double frees and absurd sizes fail with a message that names the address or the call, and the device stays usable
#include "plugin.h"

static const char *hex(const void *address) {
  static char text[20];
  snprintf(text, sizeof text, "%p", address);
  return text;
}

int main(void) {
  start_plugin(0);
  char bytes[4096] = {0}, *wild = (char *)0x123456789000;
  char *memory = PLUGIN(GOMP_OFFLOAD_alloc)(0, sizeof bytes), *gone = PLUGIN(GOMP_OFFLOAD_alloc)(0, 100);
  CHECK(memory && gone, "no memory: %s", last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_free)(0, gone), "free: %s", last_error);

  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_free)(0, gone), hex(gone));
  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_free)(0, wild), hex(wild));
  /* libgomp names the address, and GCC's tests want these words alone. */
  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_free)(0, memory + 8), "invalid device address");
  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_host2dev)(0, wild, bytes, sizeof bytes), "cuMemcpy");
  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_dev2host)(0, bytes, wild, sizeof bytes), "cuMemcpy");
  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_dev2dev)(0, memory, wild, sizeof bytes), "cuMemcpy");
  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_memset)(0, wild, 0, sizeof bytes), "cuMemset");
  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_page_locked_host_free)(bytes), hex(bytes));

  /* Out of memory is NULL, as in malloc; libgomp reports it where it matters. */
  CHECK(!PLUGIN(GOMP_OFFLOAD_alloc)(0, (size_t)1 << 60), "an exbibyte was given out");
  CHECK(!PLUGIN(GOMP_OFFLOAD_alloc)(0, (size_t)-1), "everything was given out");
  void *pinned = bytes;
  CHECK(!PLUGIN(GOMP_OFFLOAD_page_locked_host_alloc)(&pinned, (size_t)1 << 60) || !pinned, "an exbibyte was pinned");

  memset(bytes, 'x', sizeof bytes);
  CHECK(PLUGIN(GOMP_OFFLOAD_host2dev)(0, memory, bytes, sizeof bytes), "after all that: %s", last_error);
  memset(bytes, 0, sizeof bytes);
  CHECK(PLUGIN(GOMP_OFFLOAD_dev2host)(0, bytes, memory, sizeof bytes), "after all that: %s", last_error);
  CHECK(bytes[0] == 'x' && bytes[sizeof bytes - 1] == 'x', "after all that the memory holds %d", bytes[0]);
  CHECK(PLUGIN(GOMP_OFFLOAD_free)(0, memory), "free: %s", last_error);
  return 0;
}
