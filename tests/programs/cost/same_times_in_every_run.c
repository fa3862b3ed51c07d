// boomerang: checks: the same program has the same timeline in every run, to the nanosecond
// boomerang: on: sim
// boomerang: flags: -ldl
// boomerang: variants: BOOMERANG_SIM_SEED=1 | BOOMERANG_SIM_SEED=2 | BOOMERANG_SIM_SEED=3
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform.h"

enum { N = 5000, RUNS = 4, MOST = 1 << 20 };

static void program(void) {
  static int a[N];
  int count = 0;
#pragma omp target data map(tofrom : a)
  for (int turn = 0; turn < 3; turn++) {
#pragma omp target teams distribute parallel for num_teams(6) thread_limit(64)
    for (int i = 0; i < N; i++)
      a[i] += i;
    /* Teams that wait for each other: how often depends on the order in which they run. */
#pragma omp target teams distribute num_teams(6) thread_limit(32) map(tofrom : count)
    for (int i = 0; i < 120; i++) {
#pragma omp atomic
      count++;
#pragma omp critical
      a[0] = i;
    }
#pragma omp target update from(a)
  }
  CHECK(a[100] == 300 && count == 360, "%d, %d", a[100], count);
}

/* Runs the program in a process of its own; returns the timeline. */
static char *run(void) {
  pid_t child = fork();
  CHECK(child >= 0, "fork");
  if (child == 0) {
    freopen("child.stderr", "w", stderr);
    program();
    exit(0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0, "the run ends with status %#x", status);
  char *text = calloc(MOST, 1);
  FILE *file = fopen("timeline.json", "r");
  CHECK(text && file && fread(text, 1, MOST - 1, file) > 1000, "no timeline");
  fclose(file);
  return text;
}

int main(void) {
  use_platform(DEVICE RATE LINKS);
  CHECK(setenv("BOOMERANG_SIM_REPORT", "timeline.json", 1) == 0, "setenv");
  char *first = run();
  for (int i = 1; i < RUNS; i++)
    CHECK(strcmp(run(), first) == 0, "run %d has another timeline", i);
  return 0;
}
