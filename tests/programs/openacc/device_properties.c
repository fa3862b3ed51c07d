// boomerang: checks: a device tells its memory, name, vendor and driver
// boomerang: flags: -fno-openmp -fopenacc
// boomerang: env: ACC_DEVICE_TYPE=nvidia
// boomerang: gpu: alone
#include <openacc.h>
#include <string.h>

#include "../check.h"

int main(void) {
  int devices = acc_get_num_devices(acc_device_nvidia);
  CHECK(devices > 0, "%d devices", devices);
  acc_init(acc_device_nvidia);
  size_t memory = acc_get_property(0, acc_device_nvidia, acc_property_memory);
  size_t before = acc_get_property(0, acc_device_nvidia, acc_property_free_memory);
  CHECK(memory > 1 << 20 && before > 0 && before <= memory, "%zu of %zu bytes are free", before, memory);
  enum { BYTES = 64 << 20 };
  void *block = acc_malloc(BYTES);
  size_t after = acc_get_property(0, acc_device_nvidia, acc_property_free_memory);
  CHECK(block && after + BYTES <= before, "%zu bytes free before an allocation, %zu after it", before, after);
  acc_free(block);
  const char *name = acc_get_property_string(0, acc_device_nvidia, acc_property_name);
  CHECK(name && *name, "no name");
  CHECK(name == acc_get_property_string(0, acc_device_nvidia, acc_property_name), "the name moved");
  const char *vendor = acc_get_property_string(0, acc_device_nvidia, acc_property_vendor);
  CHECK(vendor && !strcmp(vendor, "Nvidia"), "vendor: %s", vendor ? vendor : "(null)");
  const char *driver = acc_get_property_string(0, acc_device_nvidia, acc_property_driver);
  int major, minor;
  CHECK(driver && sscanf(driver, "CUDA Driver %d.%d", &major, &minor) == 2, "driver: %s", driver ? driver : "(null)");
  return 0;
}
