// boomerang: checks: regions, nowait, requests and threads, mixed at random, leave memory, files and threads as they were
// boomerang: sources: soak_host.c
// boomerang: flags: -pthread -ldl
// boomerang: env: OMP_WAIT_POLICY=passive MALLOC_MMAP_THRESHOLD_=131072 MALLOC_ARENA_MAX=2
// boomerang: plugins: ours
// boomerang: timeout: 180
// boomerang: gpu: alone
/* For SOAK_SECONDS seconds, 20 if unset. Without the settings of malloc, the blocks of 256 KiB that the simulator allocates and frees
   for warps come to lie in the heaps of more and more threads. */
#include <omp.h>
#include <pthread.h>
#include <time.h>

#include "../check.h"
#include "../usage.h"

#pragma omp requires reverse_offload

enum { WORKERS = 5, STOPS = 6, WARM = 3, N = 64, MORE = 24, KIB = 12288, THREAD_KIB = 1024, DEVICE_KIB = 65536 };

void double_it(int *x);
void region_inside(int *x);

static volatile int stop;
static pthread_barrier_t all;
static _Atomic long regions;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static unsigned next(unsigned *random) {
  *random ^= *random << 13;
  *random ^= *random >> 17;
  *random ^= *random << 5;
  return *random;
}

static void waited_for(unsigned r) {
  int data[N], teams = 1 + (int)(r % 4), add = (int)(r >> 8 & 255);
  for (int i = 0; i < N; i++)
    data[i] = i;
#pragma omp target teams distribute parallel for num_teams(teams) map(tofrom : data)
  for (int i = 0; i < N; i++)
    data[i] += add;
  for (int i = 0; i < N; i++)
    CHECK(data[i] == i + add, "element %d is %d", i, data[i]);
  regions++;
}

static void with_requests(unsigned r) {
  int n = 1 + (int)(r % 5), x = 1;
#pragma omp target map(tofrom : x) firstprivate(n) thread_limit(2)
  for (int i = 0; i < n; i++) {
#pragma omp target device(ancestor : 1) map(always, tofrom : x)
    double_it(&x);
  }
  CHECK(x == 1 << n, "%d requests made it %d", n, x);
  regions++;
}

static void chain(unsigned r) {
  int a = 0, b[8] = {0}, n = 1 + (int)(r % 8);
#pragma omp target map(tofrom : a) depend(out : a) nowait thread_limit(1)
  a = 5;
  for (int i = 0; i < n; i++) {
#pragma omp target map(to : a) map(from : b[i]) firstprivate(i) depend(in : a) nowait thread_limit(1)
    b[i] = a + i;
  }
#pragma omp target map(tofrom : a) depend(inout : a) nowait thread_limit(1)
  a++;
#pragma omp taskwait
  CHECK(a == 6, "a is %d", a);
  for (int i = 0; i < n; i++)
    CHECK(b[i] == 5 + i, "b[%d] is %d", i, b[i]);
  regions += n + 2;
}

static void nowait_with_requests(unsigned r) {
  int x[6], n = 1 + (int)(r % 6), inside = r >> 8 & 1;
  for (int i = 0; i < n; i++) {
    x[i] = i + 1;
#pragma omp target map(tofrom : x[i]) firstprivate(i, inside) nowait thread_limit(1)
    {
      int y = x[i];
      if (inside) {
#pragma omp target device(ancestor : 1) map(always, tofrom : y)
        region_inside(&y);
      } else {
#pragma omp target device(ancestor : 1) map(always, tofrom : y)
        double_it(&y);
      }
      x[i] = y;
    }
  }
#pragma omp taskwait
  for (int i = 0; i < n; i++)
    CHECK(x[i] == 2 * (i + 1), "region %d made it %d", i, x[i]);
  regions += n * (1 + inside);
}

static void memory(unsigned r) {
  int device = omp_get_default_device(), host = omp_get_initial_device();
  size_t bytes = 1 + r % 100000;
  char *there = omp_target_alloc(bytes, device), *here = calloc(1, bytes), last = (char)r;
  CHECK(there && here, "no memory");
  here[bytes - 1] = last;
  CHECK(omp_target_memcpy(there, here, bytes, 0, 0, device, host) == 0, "copy");
  here[bytes - 1] = 0;
  CHECK(omp_target_memcpy(here, there, bytes, 0, 0, host, device) == 0, "copy");
  CHECK(here[bytes - 1] == last, "the last byte is %d", here[bytes - 1]);
  omp_target_free(there, device);
  free(here);
}

static void *short_lived(void *result) {
  int *x = result;
  waited_for(1);
#pragma omp target map(tofrom : x[0]) nowait thread_limit(1)
  x[0]++;
  /* The thread's end waits for it. */
  return 0;
}

static void threads(unsigned r) {
  pthread_t thread[3];
  int n = 1 + (int)(r % 3), x[3] = {0};
  for (int i = 0; i < n; i++)
    CHECK(pthread_create(&thread[i], 0, short_lived, &x[i]) == 0, "no thread");
  for (int i = 0; i < n; i++) {
    pthread_join(thread[i], 0);
    CHECK(x[i] == 1, "thread %d got %d", i, x[i]);
  }
  regions += 2 * n;
}

static void *worker(void *number) {
  static void (*const what[])(unsigned) = {waited_for, with_requests, chain, nowait_with_requests, memory, threads};
  unsigned random = 2463534242u + (unsigned)(size_t)number;
  for (int round = 0; round < STOPS; round++) {
    while (!stop)
      what[next(&random) % (sizeof what / sizeof *what)](next(&random));
    pthread_barrier_wait(&all);
    /* The main thread looks. */
    pthread_barrier_wait(&all);
  }
  return 0;
}

int main(void) {
  const char *given = getenv("SOAK_SECONDS");
  double seconds = given ? atof(given) : 20;
  pthread_t workers[WORKERS];
  struct usage found[STOPS];
  CHECK(omp_get_num_devices() > 0, "no device");
  pthread_barrier_init(&all, 0, WORKERS + 1);
  for (size_t i = 0; i < WORKERS; i++)
    CHECK(pthread_create(&workers[i], 0, worker, (void *)i) == 0, "no thread");
  for (int round = 0; round < STOPS; round++) {
    double end = now() + seconds / STOPS;
    while (now() < end)
      nanosleep(&(struct timespec){0, 50000000}, 0);
    stop = 1;
    pthread_barrier_wait(&all);
    found[round] = usage();
    printf("%ld regions: " USAGE "\n", regions, USAGE_OF(found[round]));
    fflush(stdout);
    stop = 0;
    pthread_barrier_wait(&all);
  }
  for (int i = 0; i < WORKERS; i++)
    pthread_join(workers[i], 0);
  /* What grows as long as more regions come to run at once than ever before: threads, and what each of them and each region keeps. */
  struct usage warm = found[WARM - 1], last = found[STOPS - 1];
  int more = last.threads > warm.threads ? last.threads - warm.threads : 0;
  CHECK(last.files <= warm.files && more <= MORE && last.kib <= warm.kib + KIB + more * THREAD_KIB &&
            last.device_kib <= warm.device_kib + DEVICE_KIB,
        "from " USAGE " to " USAGE, USAGE_OF(warm), USAGE_OF(last));
  return 0;
}
