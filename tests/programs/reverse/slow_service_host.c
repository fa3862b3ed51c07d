/* The host's part of slow_service.c. */
#include <semaphore.h>
#include <time.h>

static sem_t done;

__attribute__((constructor)) static void init(void) { sem_init(&done, 0, 0); }

void wait_for_other_thread(int *ok) {
  struct timespec deadline;
  clock_gettime(CLOCK_REALTIME, &deadline);
  deadline.tv_sec += 20;
  *ok = sem_timedwait(&done, &deadline) == 0;
}

void other_thread_is_done(void) { sem_post(&done); }
