/* The host's part of fault_while_other_thread_waits.c. */
#include <semaphore.h>

static sem_t running;

__attribute__((constructor)) static void init(void) { sem_init(&running, 0, 0); }

void other_kernel_runs(void) { sem_post(&running); }
void wait_for_other_kernel(void) { sem_wait(&running); }
