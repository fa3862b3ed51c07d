// boomerang: checks: host threads that map, copy, update, allocate and free at once, some of them in regions with requests whose blocks do so too, find their own data only
// boomerang: sources: memory_used_by_threads_at_once_host.c
// boomerang: variants: BOOMERANG_POOL=off | BOOMERANG_POOL=100K | BOOMERANG_WAIT=block | BOOMERANG_DEVICE_RUNTIME=stock | BOOMERANG_SIM_FAIL=cuMemHostAlloc#20=2 | BOOMERANG_SIM_MEMORY=80M BOOMERANG_POOL=1T | CUDA_DEVICE_MAX_CONNECTIONS=2
// boomerang: stock: hangs: the regions of a device share one request word, and cuMemFree waits for them
#include <omp.h>

#include "../check.h"

#pragma omp requires reverse_offload

void use_memory(int seed, int *wrong);

enum { THREADS = 6, ROUNDS = 25 };

/* In a region with a request, whose block uses memory while other threads' kernels run. */
static int in_request(int seed) {
  int wrong = 0, x = seed;
#pragma omp target map(tofrom : wrong, x)
  {
    x++;
#pragma omp target device(ancestor : 1) firstprivate(seed) map(always, tofrom : wrong)
    use_memory(seed, &wrong);
    x++;
  }
  return wrong + (x != seed + 2);
}

/* Small and large arrays through data regions, without and with kernels. */
static int in_data_region(int seed) {
  int n = 1 + seed * 37 % 3000, wrong = 0;
  int *a = malloc((size_t)n * sizeof *a);
  for (int i = 0; i < n; i++)
    a[i] = seed + i;
#pragma omp target data map(tofrom : a[0 : n])
  {
    for (int i = 0; i < n; i++)
      a[i] = seed - i;
#pragma omp target update to(a[0 : n / 2])
    if (seed % 3)
#pragma omp target
      for (int i = 0; i < n; i++)
        a[i]++;
  }
  for (int i = 0; i < n; i++)
    wrong += a[i] != (i < n / 2 ? seed - i : seed + i) + (seed % 3 != 0);
  free(a);
  return wrong;
}

int main(void) {
  int wrong[THREADS] = {0};
  CHECK(omp_get_num_devices() > 0, "no device");
#pragma omp parallel num_threads(THREADS)
  {
    int me = omp_get_thread_num();
    for (int round = 0; round < ROUNDS; round++) {
      int seed = me * 1000 + round;
      switch ((me + round) % 3) {
      case 0:
        wrong[me] += in_request(seed);
        break;
      case 1:
        wrong[me] += in_data_region(seed);
        break;
      default:
        use_memory(seed, &wrong[me]);
      }
    }
  }
  for (int t = 0; t < THREADS; t++)
    CHECK(wrong[t] == 0, "thread %d found %d wrong values", t, wrong[t]);
  return 0;
}
