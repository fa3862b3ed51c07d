// boomerang: checks: thousands of regions with nowait may be outstanding, without a thread each, and others run between them
// boomerang: stock: hangs: it ignores nowait, so the first region waits for ever
// boomerang: variants: BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll
// boomerang: timeout: 120
#include <dirent.h>
#include <omp.h>
#include <pthread.h>

#include "../check.h"

enum { REGIONS = 2000 };

static int device, *shared;

static int threads(void) {
  int n = 0;
  DIR *tasks = opendir("/proc/self/task");
  CHECK(tasks, "no /proc");
  while (readdir(tasks))
    n++;
  closedir(tasks);
  return n;
}

/* A region that a thread waits for, while all queues are in use. */
static void *other_thread(void *result) {
  int x = 20;
#pragma omp target map(tofrom : x)
  x++;
  *(int *)result = x;
  return 0;
}

int main(void) {
  int host = omp_get_initial_device(), zeros[2] = {0}, one = 1, count = 0, result = 0;
  device = omp_get_default_device();
  shared = omp_target_alloc(sizeof zeros, device);
  CHECK(shared, "no memory");
  CHECK(omp_target_memcpy(shared, zeros, sizeof zeros, 0, 0, device, host) == 0, "copy");
  int *const p = shared;
  int before = 0;
  for (int i = 0; i < REGIONS; i++) {
#pragma omp target nowait is_device_ptr(p) thread_limit(1)
    {
      int let_go;
      do {
#pragma omp atomic read
        let_go = p[1];
      } while (!let_go);
#pragma omp atomic
      p[0]++;
    }
    if (i == 200)
      before = threads();
  }
  int after = threads();
  /* The simulator may have started some of its own. */
  CHECK(after - before < 20, "%d threads with 200 regions, %d with %d", before, after, REGIONS);
  pthread_t other;
  CHECK(pthread_create(&other, 0, other_thread, &result) == 0, "no thread");
  CHECK(omp_target_memcpy(p + 1, &one, sizeof one, 0, 0, device, host) == 0, "copy");
#pragma omp taskwait
  CHECK(pthread_join(other, 0) == 0 && result == 21, "the other thread got %d", result);
  CHECK(omp_target_memcpy(&count, p, sizeof count, 0, 0, host, device) == 0, "copy");
  CHECK(count == REGIONS, "%d regions ran", count);
  omp_target_free(p, device);
  return 0;
}
