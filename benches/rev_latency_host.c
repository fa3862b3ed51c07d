/* The host's part of rev_latency.c: keeps the time of each request. */
#include "bench.h"

static double stamps[20000];
static int count;

void stamp(void) { stamps[count++] = now(); }

void stamp_and_add(int *x, int y) {
  stamps[count++] = now();
  *x += y;
}

void stamp_and_touch(char *block) {
  stamps[count++] = now();
  block[count % 1024]++;
}

/* The `n` intervals between the `n + 1` stamps taken, in their place; starts anew. */
double *intervals(int n) {
  if (count != n + 1) {
    fprintf(stderr, "%d requests were served, not %d\n", count, n + 1);
    exit(1);
  }
  for (int i = 0; i < n; i++)
    stamps[i] = stamps[i + 1] - stamps[i];
  count = 0;
  return stamps;
}
