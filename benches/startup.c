// boomerang: measures: the time until a program's first region has ended: with all caches empty, then with what that left there
// boomerang: variants: BOOMERANG_PTX_OPT=0 | BOOMERANG_PTX_OPT=0 BOOMERANG_JIT_THREADS=0 | BOOMERANG_JIT_THREADS=0
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

enum { COLD = 2, WARM = 5 };

/* What a first region took. */
struct first {
  double time;
  uint64_t calls;
};

/* A first region in a process of its own. `folder`: for the plugin's cache and for the driver's. */
static struct first first_region(const char *folder) {
  struct first first = {0, 0};
  int ends[2];
  if (pipe(ends))
    exit(1);
  pid_t child = fork();
  if (child == 0) {
    setenv("BOOMERANG_CACHE", folder, 1);
    setenv("CUDA_CACHE_PATH", folder, 1);
    int x = 0;
    uint64_t instructions;
    first.time = now();
#pragma omp target map(tofrom : x)
    x++;
    first.time = now() - first.time;
    sim_counts(&first.calls, &instructions);
    exit(x != 1 || write(ends[1], &first, sizeof first) != sizeof first);
  }
  close(ends[1]);
  int status = 1;
  if (child < 0 || read(ends[0], &first, sizeof first) != sizeof first || waitpid(child, &status, 0) < 0 || status) {
    fprintf(stderr, "the first region of a process failed\n");
    exit(1);
  }
  close(ends[0]);
  return first;
}

int main(void) {
  double cold[COLD], warm[WARM];
  struct first first;
  char folder[20];
  for (int i = 0; i < COLD; i++) {
    snprintf(folder, sizeof folder, "cache-%d", i);
    mkdir(folder, 0700);
    cold[i] = first_region(folder).time;
  }
  for (int i = 0; i < WARM; i++) {
    first = first_region(folder);
    warm[i] = first.time;
  }
  report_samples("first-region-cold", cold, COLD);
  if (first.calls)
    report("first-region-warm-driver", (double)first.calls, "calls");
  report_samples("first-region-warm", warm, WARM);
  return 0;
}
