/* The host's part of end_inside_request_while_others_run.c. */
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

const char *way;
static sem_t runs;

__attribute__((constructor)) static void start(void) { sem_init(&runs, 0, 0); }

void other_kernel_runs(void) { sem_post(&runs); }

void wait_for_other_kernel(void) { sem_wait(&runs); }

void leave(void) {
  if (!strcmp(way, "exit"))
    exit(7);
  if (!strcmp(way, "abort"))
    abort();
  raise(SIGTERM);
}
