/* The host's part of device_memory_managed_inside_request.c. */
#include <omp.h>

#include "../check.h"

#pragma omp requires reverse_offload

void manage_memory(int round, int *value) {
  int device = omp_get_default_device(), host = omp_get_initial_device();
  size_t size = (size_t)4096 << (round % 12);
  int there = 1000 + round, back = 0;

  int *memory = omp_target_alloc(size, device);
  CHECK(memory, "omp_target_alloc(%zu) gave NULL in round %d", size, round);
  CHECK(!omp_target_memcpy(memory, &there, sizeof there, size - sizeof there, 0, device, host), "copy to the device");
  CHECK(!omp_target_memcpy(&back, memory, sizeof back, 0, size - sizeof back, host, device), "copy from the device");
  CHECK(back == there, "%d came back for %d", back, there);
  omp_target_free(memory, device);

  int array[64];
  for (int i = 0; i < 64; i++)
    array[i] = i;
#pragma omp target enter data map(to : array)
  for (int i = 0; i < 64; i++)
    array[i] = -1;
#pragma omp target update from(array[32 : 16])
#pragma omp target exit data map(release : array)
  for (int i = 0; i < 64; i++)
    CHECK(array[i] == (i >= 32 && i < 48 ? i : -1), "array[%d] is %d after the update", i, array[i]);
  CHECK(!omp_target_is_present(array, device), "still mapped after release");
  *value = there;
}
