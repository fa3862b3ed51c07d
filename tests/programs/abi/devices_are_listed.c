// boomerang: checks: the plugin tells its name, version, capabilities and devices, and starts and ends each device
#include "plugin.h"

int main(void) {
  CHECK(!strcmp(PLUGIN(GOMP_OFFLOAD_get_name)(), "nvptx"), "name is %s", PLUGIN(GOMP_OFFLOAD_get_name)());
  CHECK(PLUGIN(GOMP_OFFLOAD_version)() == 3, "version is %u", PLUGIN(GOMP_OFFLOAD_version)());
  /* OFFLOAD_TARGET_TYPE_NVIDIA_PTX and GOMP_OFFLOAD_CAP_OPENMP_400 of libgomp-plugin.h. */
  CHECK(PLUGIN(GOMP_OFFLOAD_get_type)() == 5, "type is %d", PLUGIN(GOMP_OFFLOAD_get_type)());
  CHECK(PLUGIN(GOMP_OFFLOAD_get_caps)() & 4, "capabilities are %#x", PLUGIN(GOMP_OFFLOAD_get_caps)());

  int devices = PLUGIN(GOMP_OFFLOAD_get_num_devices)(0);
  CHECK(devices >= 1, "%d devices", devices);
  /* GOMP_REQUIRES_REVERSE_OFFLOAD: every device can do it. */
  CHECK(PLUGIN(GOMP_OFFLOAD_get_num_devices)(0x80) == devices, "fewer devices with reverse offload");
  for (int d = 0; d < devices; d++) {
    const char *uid = PLUGIN(GOMP_OFFLOAD_get_uid)(d);
    CHECK(uid && !strncmp(uid, "GPU-", 4) && strlen(uid) == 40, "device %d has the identifier %s", d, uid);
    CHECK(PLUGIN(GOMP_OFFLOAD_init_device)(d), "device %d does not start", d);
    CHECK(PLUGIN(GOMP_OFFLOAD_fini_device)(d), "device %d does not end", d);
  }
  return 0;
}
