/* The host's part of data_entered_inside_request.c. */
#include <omp.h>
#include <stddef.h>

#include "../check.h"

#define N ((size_t)8 << 20)

#pragma omp requires reverse_offload

static long *host;

void enter(long **device_pointer, size_t *count) {
  host = malloc(N * sizeof *host);
  CHECK(host, "no memory");
  for (size_t i = 0; i < N; i++)
    host[i] = (long)i;
#pragma omp target enter data map(to : host[0 : N])
  *device_pointer = omp_get_mapped_ptr(host, omp_get_default_device());
  CHECK(*device_pointer, "not mapped after target enter data");
  *count = N;
}

void leave(void) {
#pragma omp target exit data map(from : host[0 : N])
  for (size_t i = 0; i < N; i++) {
    long expected = i % 65536 ? (long)i : 2 * (long)i + 1;
    CHECK(host[i] == expected, "element %zu came back as %ld", i, host[i]);
  }
  free(host);
}
