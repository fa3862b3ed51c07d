// boomerang: checks: host threads that copy at once share no more copying threads than there are processors, which sleep between copies and outlive forks and the plugin's end
// boomerang: variants: BOOMERANG_WAIT=block | BOOMERANG_SIM_FAIL=cuMemHostAlloc#9=2
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin.h"

/* Of all sizes that are handled differently, none a multiple of any buffer's. */
static const size_t SIZES[] = {(4 << 20) + 5, (9 << 20) + 77, (33 << 20) + 4321};
enum { ROUNDS = 3, THREADS = 6 };

static void *copy(void *argument) {
  size_t number = (size_t)(uintptr_t)argument, words = SIZES[number % 3] / 4, size = SIZES[number % 3];
  uint32_t *host = malloc(size);
  char *device = PLUGIN(GOMP_OFFLOAD_alloc)(0, size), *end = (char *)host + size - 1;
  CHECK(host && device, "no memory: %s", last_error);
  for (size_t round = 0; round < ROUNDS; round++) {
    for (size_t i = 0; i < words; i++)
      host[i] = (uint32_t)((i * THREADS + number) * ROUNDS + round);
    *end = (char)(number + round);
    CHECK(PLUGIN(GOMP_OFFLOAD_host2dev)(0, device, host, size), "%s", last_error);
    memset(host, 0xff, size);
    CHECK(PLUGIN(GOMP_OFFLOAD_dev2host)(0, host, device, size), "%s", last_error);
    for (size_t i = 0; i < words; i++)
      CHECK(host[i] == (uint32_t)((i * THREADS + number) * ROUNDS + round), "thread %zu, round %zu: word %zu is %u", number,
            round, i, host[i]);
    CHECK(*end == (char)(number + round), "thread %zu, round %zu: the last byte is %d", number, round, *end);
  }
  CHECK(PLUGIN(GOMP_OFFLOAD_free)(0, device), "%s", last_error);
  free(host);
  return 0;
}

static void copy_at_once(void) {
  pthread_t threads[THREADS];
  for (uintptr_t i = 0; i < THREADS; i++)
    CHECK(!pthread_create(&threads[i], 0, copy, (void *)i), "no thread");
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], 0);
}

/* The plugin's threads for copies, all of them or only those that do anything. */
static int copying_threads(int awake) {
  int count = 0;
  DIR *tasks = opendir("/proc/self/task");
  CHECK(tasks, "no /proc");
  for (struct dirent *task; (task = readdir(tasks));) {
    char path[300], name[32], state;
    snprintf(path, sizeof path, "/proc/self/task/%s/stat", task->d_name);
    FILE *file = fopen(path, "r");
    if (file && fscanf(file, "%*d (%31[^)]) %c", name, &state) == 2)
      count += !strcmp(name, "boomerang-copy") && (!awake || state != 'S');
    if (file)
      fclose(file);
  }
  closedir(tasks);
  return count;
}

static int processors(void) {
  cpu_set_t set;
  CHECK(!sched_getaffinity(0, sizeof set, &set), "no affinity");
  return CPU_COUNT(&set);
}

static void check_threads(void) {
  int count = copying_threads(0);
  CHECK(count < processors() && count <= 14, "%d threads, %d processors", count, processors());
  /* Until they have gone to sleep; a thread that spins never does. */
  while (copying_threads(1))
    sched_yield();
}

static void expect_success(pid_t child) {
  int status = 1;
  CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0, "status %x", status);
}

int main(void) {
  start_plugin(0);
  CHECK(copying_threads(0) == 0, "threads before any copy");
  copy_at_once();
  check_threads();

  pid_t child = fork();
  if (child == 0) {
    static char host[5 << 20];
    CHECK_ERROR(!PLUGIN(GOMP_OFFLOAD_host2dev)(0, (void *)0x1000, host, sizeof host), "fork");
    _exit(copying_threads(0));
  }
  expect_success(child);
  child = fork();
  if (child == 0) {
    execl("/bin/true", "true", (char *)0);
    _exit(1);
  }
  expect_success(child);
  copy_at_once();
  check_threads();

  CHECK(errors == 0, "a message although all went well: %s", last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_fini_device)(0), "%s", last_error);
  /* Whoever loaded the plugin lets go of it; its code has to stay for its threads. */
  CHECK(!dlclose(dlopen("libgomp-plugin-nvptx.so.1", RTLD_NOW)) && !dlclose(plugin), "%s", dlerror());
  check_threads();
  return 0;
}
