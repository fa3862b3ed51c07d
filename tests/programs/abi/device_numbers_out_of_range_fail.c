// boomerang: checks: every call with a device number out of range fails with a message that has the number
#include "plugin.h"

#include "image.h"

IMAGE(image, PTX_50 PTX_NOTHING, "nothing");

static void refuse_all(int device, const char *number) {
  char bytes[16] = {0};
  struct addr_pair *table = 0;
  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_init_device)(device), number);
  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_fini_device)(device), number);
  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_get_uid)(device), number);
  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_alloc)(device, 100), number);
  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_free)(device, bytes), number);
  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_host2dev)(device, bytes, bytes, 16), number);
  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_dev2host)(device, bytes, bytes, 16), number);
  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_dev2dev)(device, bytes, bytes, 16), number);
  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_memset)(device, bytes, 0, 16), number);
  CHECK_ERROR(PLUGIN(GOMP_OFFLOAD_load_image)(device, IMAGE_VERSION, &image, &table, 0, 0) == -1, number);
  CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_unload_image)(device, IMAGE_VERSION, &image), number);
}

int main(void) {
  start_plugin(0);
  refuse_all(-1, "-1");
  refuse_all(1000, "1000");
  refuse_all(-2147483647 - 1, "-2147483648");
  return 0;
}
