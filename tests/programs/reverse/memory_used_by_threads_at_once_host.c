/* The host's part of memory_used_by_threads_at_once.c. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

void use_memory(int seed, int *wrong) {
  int device = omp_get_default_device(), host = omp_get_initial_device();
  /* Small ones mostly, now and then one that is copied in chunks. */
  size_t size = seed % 10 ? 1 + (size_t)seed * 977 % 70000 : (5u << 20) + (size_t)seed;
  unsigned char *data = malloc(size), *back = calloc(size, 1);
  char *one = omp_target_alloc(size, device), *other = omp_target_alloc(size, device);
  if (!data || !back || !one || !other)
    abort();
  for (size_t i = 0; i < size; i++)
    data[i] = (unsigned char)(i * 7 + i / 253 + (size_t)seed);
  *wrong += omp_target_memcpy(one, data, size, 0, 0, device, host) != 0;
  *wrong += omp_target_memcpy(other, one, size, 0, 0, device, device) != 0;
  omp_target_free(one, device);
  *wrong += omp_target_memcpy(back, other, size, 0, 0, host, device) != 0;
  omp_target_free(other, device);
  *wrong += memcmp(data, back, size) != 0;
  free(data);
  free(back);
}
