// boomerang: checks: a region runs on the device that the queries name, and each side knows which one it is on
#include <omp.h>

#include "../check.h"

int main(void) {
  int devices = omp_get_num_devices(), device = omp_get_default_device();
  CHECK(devices >= 1, "%d devices", devices);
  CHECK(device >= 0 && device < devices, "default device %d of %d", device, devices);
  CHECK(omp_get_initial_device() == devices, "initial device is %d", omp_get_initial_device());
  CHECK(omp_is_initial_device() && omp_get_device_num() == devices, "the host thinks that it is a device");

  for (int d = 0; d < devices; d++) {
    int on_host = 1, number = -1, threads = 0;
#pragma omp target device(d) map(from : on_host, number, threads)
    {
      on_host = omp_is_initial_device();
      number = omp_get_device_num();
      threads = omp_get_max_threads();
    }
    CHECK(!on_host, "device %d: the region ran on the host", d);
    CHECK(number == d, "device %d thinks that it is %d", d, number);
    CHECK(threads >= 1, "device %d has %d threads", d, threads);
    int x = 0;
    CHECK(!omp_target_is_present(&x, d), "an unmapped variable is present");
#pragma omp target enter data map(to : x) device(d)
    CHECK(omp_target_is_present(&x, d), "a mapped variable is not present");
    CHECK(omp_get_mapped_ptr(&x, d), "a mapped variable has no device address");
#pragma omp target exit data map(delete : x) device(d)
    CHECK(!omp_get_mapped_ptr(&x, d), "a deleted variable has a device address");
  }
  return 0;
}
