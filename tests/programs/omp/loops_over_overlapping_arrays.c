// boomerang: checks: loops that read and write one array at any distance do so in the program's order
// boomerang: variants: BOOMERANG_PTX_OPT=loads | BOOMERANG_PTX_OPT=prune | BOOMERANG_SIM_SEED=1
#include <string.h>

#include "../check.h"

enum { MOST = 20, N = 100, ROOM = N + 2 * MOST };

/* None of them is a `simd` loop: each turn may need what the one before has written. */
#pragma omp begin declare target
static void longs(unsigned long *a, const unsigned long *b, const unsigned long *c, int n) {
  for (int i = 0; i < n; i++)
    a[i] = b[i] + 3 * c[i];
}

static void sums(unsigned char *a, const unsigned char *b, int n) {
  for (int i = 0; i < n; i++)
    a[i] = (unsigned char)(a[i] + b[i]);
}

static void mixed(float *a, const int *b, short *c, int n) {
  for (int i = 0; i < n; i++) {
    a[i] = (float)(b[i] % 100);
    c[i] = (short)(c[i] + b[i]);
  }
}
#pragma omp end declare target

union memory {
  unsigned long l[ROOM];
  float f[2 * ROOM];
  int i[2 * ROOM];
  short s[4 * ROOM];
  unsigned char u[8 * ROOM];
};

static void fill(union memory *m) {
  for (int i = 0; i < ROOM; i++)
    m->l[i] = (unsigned long)i;
}

static void fill_bytes(union memory *m) {
  for (int i = 0; i < 8 * ROOM; i++)
    m->u[i] = (unsigned char)(i * 7 + i / 256);
}

/* Distances in elements of what is written from what is read. */
static void run(union memory *m, int kind, int far, int other, int n) {
  switch (kind) {
  case 0:
    longs(m->l + MOST + far, m->l + MOST, m->l + MOST + other, n);
    break;
  case 1:
    sums(m->u + MOST + far, m->u + MOST, n);
    break;
  case 2:
    mixed(m->f + MOST + far, m->i + MOST, m->s + 2 * (MOST + other), n);
    break;
  }
}

#pragma omp declare target to(run)

int main(void) {
  static union memory here, there;
  for (int kind = 0; kind < 3; kind++)
    for (int far = -MOST; far <= MOST; far++) {
      int other = kind == 1 ? 0 : far * 7 % MOST, n = N - (far + MOST) % 8;
      if (kind == 0)
        fill(&here), fill(&there);
      else
        fill_bytes(&here), fill_bytes(&there);
      run(&here, kind, far, other, n);
#pragma omp target map(tofrom : there)
      run(&there, kind, far, other, n);
      CHECK(!memcmp(&here, &there, sizeof here), "kind %d, written %d behind what is read, other %d", kind, far, other);
    }
  /* Arrays that are different ones, by many threads and lanes. */
  double a[1000], b[1000], c[1000];
  for (int i = 0; i < 1000; i++)
    a[i] = -1, b[i] = i, c[i] = 2 * i;
#pragma omp target teams distribute parallel for simd num_teams(3) map(from : a) map(to : b, c)
  for (int i = 0; i < 1000; i++)
    a[i] = b[i] + 3 * c[i];
  for (int i = 0; i < 1000; i++)
    CHECK(a[i] == 7 * i, "%d: %g", i, a[i]);
  return 0;
}
