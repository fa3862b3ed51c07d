/* The host's part of memory_freed_by_other_thread.c. */
#include <semaphore.h>

static sem_t running, freed;

__attribute__((constructor)) static void init(void) {
  sem_init(&running, 0, 0);
  sem_init(&freed, 0, 0);
}

void kernel_runs(void) { sem_post(&running); }
void wait_for_kernel(void) { sem_wait(&running); }
void memory_was_freed(void) { sem_post(&freed); }
void look_whether_freed(int *flag) { *flag = sem_trywait(&freed) == 0; }
