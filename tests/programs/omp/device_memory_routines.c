// boomerang: checks: omp_target_alloc, memcpy, memcpy_rect, associate_ptr and free manage memory of the device
#include <omp.h>
#include <string.h>

#include "../check.h"

enum { ROWS = 12, COLUMNS = 10, LAYERS = 4 };

int main(void) {
  int device = omp_get_default_device(), host = omp_get_initial_device();
  int in[LAYERS][ROWS][COLUMNS], out[LAYERS][ROWS][COLUMNS];
  for (int i = 0; i < LAYERS * ROWS * COLUMNS; i++)
    (&in[0][0][0])[i] = i;
  int *a = omp_target_alloc(sizeof in, device), *b = omp_target_alloc(sizeof in, device);
  CHECK(a && b && a != b, "omp_target_alloc gave %p and %p", (void *)a, (void *)b);

  CHECK(!omp_target_memcpy(a, in, sizeof in, 0, 0, device, host), "host to device");
  CHECK(!omp_target_memcpy(b, a, sizeof in, 0, 0, device, device), "device to device");
  CHECK(!omp_target_memcpy(out, b, sizeof in, 0, 0, host, device), "device to host");
  CHECK(!memcmp(in, out, sizeof in), "what went through two buffers came back changed");

  CHECK(!omp_target_memcpy(b, in, 40, 80, 120, device, host), "host to device with offsets");
  CHECK(!omp_target_memcpy(out, b, 40, 0, 80, host, device), "device to host with offsets");
  CHECK(!memcmp(out, (char *)in + 120, 40), "a copy with offsets");

  /* A rectangle of rows 3 to 7 and columns 2 to 4, to rows 1 to 5 and columns 5 to 7. */
  size_t volume2[] = {5, 3}, to2[] = {1, 5}, from2[] = {3, 2}, shape2[] = {ROWS, COLUMNS};
  memset(out, 0, sizeof out);
  CHECK(!omp_target_memcpy(b, out, sizeof out, 0, 0, device, host), "clearing");
  CHECK(!omp_target_memcpy_rect(b, in, sizeof(int), 2, volume2, to2, from2, shape2, shape2, device, host), "rect in");
  CHECK(!omp_target_memcpy(out, b, sizeof out, 0, 0, host, device), "reading back");
  for (int r = 0; r < ROWS; r++)
    for (int c = 0; c < COLUMNS; c++) {
      int inside = r >= 1 && r < 6 && c >= 5 && c < 8;
      CHECK(out[0][r][c] == (inside ? in[0][r + 2][c - 3] : 0), "rectangle: [%d][%d] is %d", r, c, out[0][r][c]);
    }

  /* A box, from device to host, and from device to device. */
  size_t volume3[] = {2, 4, 3}, to3[] = {1, 0, 2}, from3[] = {2, 5, 1}, shape3[] = {LAYERS, ROWS, COLUMNS};
  for (int direct = 0; direct < 2; direct++) {
    memset(out, 0, sizeof out);
    if (direct) {
      CHECK(!omp_target_memcpy_rect(out, a, sizeof(int), 3, volume3, to3, from3, shape3, shape3, host, device), "box out");
    } else {
      CHECK(!omp_target_memcpy(b, out, sizeof out, 0, 0, device, host), "clearing");
      CHECK(!omp_target_memcpy_rect(b, a, sizeof(int), 3, volume3, to3, from3, shape3, shape3, device, device), "box");
      CHECK(!omp_target_memcpy(out, b, sizeof out, 0, 0, host, device), "reading back");
    }
    for (int l = 0; l < LAYERS; l++)
      for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++) {
          int inside = l >= 1 && l < 3 && r < 4 && c >= 2 && c < 5;
          CHECK(out[l][r][c] == (inside ? in[l + 1][r + 5][c - 1] : 0), "box: [%d][%d][%d] is %d", l, r, c, out[l][r][c]);
        }
  }

  /* Memory of one's own under a host variable's name. */
  int variable[ROWS] = {0};
  CHECK(!omp_target_associate_ptr(variable, a, sizeof variable, 0, device), "associate");
#pragma omp target map(alloc : variable)
  variable[3] += 1000;
  CHECK(!omp_target_disassociate_ptr(variable, device), "disassociate");
  CHECK(!omp_target_memcpy(out, a, sizeof variable, 0, 0, host, device), "reading back");
  CHECK(out[0][0][3] == 1003 && variable[3] == 0, "associated memory holds %d", out[0][0][3]);

  CHECK(!omp_target_alloc(0, device), "omp_target_alloc(0) gave memory");
  omp_target_free(b, device);
  omp_target_free(a, device);
  omp_target_free(0, device);
  return 0;
}
