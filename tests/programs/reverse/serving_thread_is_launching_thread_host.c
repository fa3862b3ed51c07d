/* The host's part of serving_thread_is_launching_thread.c. */
#define _GNU_SOURCE
#include <unistd.h>

static _Thread_local int secret_of_thread;

void set_secret(int value) { secret_of_thread = value; }

void look_around(long *tid, int *secret) {
  *tid = gettid();
  *secret = secret_of_thread;
}
