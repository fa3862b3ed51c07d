// boomerang: checks: the first region of a new host thread may map nothing
// boomerang: stock: dies: cuLaunchKernel reports an invalid device context, because only mapping makes the context current
#include <omp.h>
#include <pthread.h>

#include "../check.h"

static int regions;

static void *start(void *unused) {
  (void)unused;
#pragma omp target
  {
  }
#pragma omp atomic
  regions++;
  return 0;
}

int main(void) {
  int x = 0;
#pragma omp target map(tofrom : x)
  x = 1;
  pthread_t threads[3];
  for (int i = 0; i < 3; i++)
    CHECK(!pthread_create(&threads[i], 0, start, 0), "no thread");
  for (int i = 0; i < 3; i++)
    pthread_join(threads[i], 0);
  CHECK(x == 1 && regions == 3, "x is %d, %d threads ran a region", x, regions);
  return 0;
}
