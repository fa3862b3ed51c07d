// boomerang: checks: pinned and managed memory is usable by host and device, and is told from other memory
#include "plugin.h"

int main(void) {
  enum { SIZE = 100000 };
  start_plugin(0);
  char *device = PLUGIN(GOMP_OFFLOAD_alloc)(0, SIZE), plain[100] = {0};
  CHECK(device, "no memory: %s", last_error);

  void *pinned = 0;
  CHECK(PLUGIN(GOMP_OFFLOAD_page_locked_host_alloc)(&pinned, SIZE) && pinned, "no pinned memory: %s", last_error);
  memset(pinned, 'p', SIZE);
  CHECK(PLUGIN(GOMP_OFFLOAD_host2dev)(0, device, pinned, SIZE), "from pinned memory: %s", last_error);

  char *managed = PLUGIN(GOMP_OFFLOAD_managed_alloc)(0, SIZE);
  CHECK(managed, "no managed memory: %s", last_error);
  memset(managed, 'm', SIZE);
  CHECK(PLUGIN(GOMP_OFFLOAD_dev2dev)(0, managed, device, SIZE / 2), "to managed memory: %s", last_error);
  CHECK(managed[0] == 'p' && managed[SIZE / 2 - 1] == 'p' && managed[SIZE / 2] == 'm', "managed memory holds %c %c %c",
        managed[0], managed[SIZE / 2 - 1], managed[SIZE / 2]);

  CHECK(PLUGIN(GOMP_OFFLOAD_is_accessible_ptr)(0, managed, SIZE) == 1, "managed memory counts as inaccessible");
  CHECK(PLUGIN(GOMP_OFFLOAD_is_accessible_ptr)(0, pinned, SIZE) == 1, "pinned memory counts as inaccessible");
  CHECK(PLUGIN(GOMP_OFFLOAD_is_accessible_ptr)(0, plain, sizeof plain) == 0, "a local array counts as accessible");

  CHECK(PLUGIN(GOMP_OFFLOAD_managed_free)(0, managed), "free of managed memory: %s", last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_page_locked_host_free)(pinned), "free of pinned memory: %s", last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_free)(0, device), "free: %s", last_error);
  CHECK(errors == 0, "a message although all went well: %s", last_error);
  return 0;
}
