// boomerang: checks: use_device_ptr, use_device_addr, is_device_ptr and has_device_addr hand device addresses to host and region
#include <omp.h>

#include "../check.h"

int main(void) {
  int device = omp_get_default_device(), host = omp_get_initial_device();
  int array[8] = {0}, *p = array, value = 42, back = 0;
#pragma omp target data map(tofrom : array)
  {
#pragma omp target data use_device_ptr(p)
    {
      CHECK(p == omp_get_mapped_ptr(array, device), "use_device_ptr gave %p", (void *)p);
      CHECK(!omp_target_memcpy(p, &value, sizeof value, 4, 0, device, host), "copy to the device");
#pragma omp target is_device_ptr(p)
      p[2] = p[1] + 1;
    }
#pragma omp target data use_device_addr(array)
    {
      CHECK(!omp_target_memcpy(&back, array, sizeof back, 0, 8, host, device), "copy from the device");
#pragma omp target has_device_addr(array)
      array[3] = array[2] + 1;
    }
  }
  CHECK(back == 43, "read %d from the device", back);
  CHECK(array[1] == 42 && array[2] == 43 && array[3] == 44, "array is %d %d %d", array[1], array[2], array[3]);
  return 0;
}
