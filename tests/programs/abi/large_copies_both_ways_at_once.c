// boomerang: checks: large copies to and from the device by several threads at once don't mix
#include <pthread.h>

#include "plugin.h"

enum { SIZE = (12 << 20) + 77, ROUNDS = 4, THREADS = 4 };

static void *run(void *argument) {
  int number = (int)(uintptr_t)argument;
  unsigned char *host = malloc(SIZE);
  char *device = PLUGIN(GOMP_OFFLOAD_alloc)(0, SIZE);
  CHECK(host && device, "no memory: %s", last_error);
  for (int round = 0; round < ROUNDS; round++) {
    for (size_t i = 0; i < SIZE; i++)
      host[i] = (unsigned char)(i * 13 + i / 250 + (size_t)(number * ROUNDS + round));
    CHECK(PLUGIN(GOMP_OFFLOAD_host2dev)(0, device, host, SIZE), "%s", last_error);
    memset(host, 0, SIZE);
    CHECK(PLUGIN(GOMP_OFFLOAD_dev2host)(0, host, device, SIZE), "%s", last_error);
    for (size_t i = 0; i < SIZE; i++)
      CHECK(host[i] == (unsigned char)(i * 13 + i / 250 + (size_t)(number * ROUNDS + round)),
            "thread %d, round %d: byte %zu is %d", number, round, i, host[i]);
  }
  free(host);
  return 0;
}

int main(void) {
  start_plugin(0);
  pthread_t threads[THREADS];
  for (uintptr_t i = 0; i < THREADS; i++)
    CHECK(!pthread_create(&threads[i], 0, run, (void *)i), "no thread");
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], 0);
  CHECK(errors == 0, "a message although all went well: %s", last_error);
  return 0;
}
