// boomerang: checks: small copies to the device take what the host's memory holds when they are made, arrive in order, and come before whatever is done next
// boomerang: variants: BOOMERANG_SIM_FAIL=cuMemHostAlloc=2 | BOOMERANG_POOL=off
#include "plugin.h"

enum { SIZE = 3000, ROUNDS = 2000 };

int main(void) {
  start_plugin(0);
  static unsigned char host[SIZE], back[SIZE];
  char *memory = PLUGIN(GOMP_OFFLOAD_alloc)(0, SIZE), *copy = PLUGIN(GOMP_OFFLOAD_alloc)(0, SIZE);
  CHECK(memory && copy, "no memory: %s", last_error);
  /* More bytes in all than any buffer holds. */
  for (int round = 0; round < ROUNDS; round++) {
    memset(host, round, SIZE);
    CHECK(PLUGIN(GOMP_OFFLOAD_host2dev)(0, memory, host, SIZE), "%s", last_error);
    memset(host, ~round, SIZE);
    if (round % 7 == 0) {
      CHECK(PLUGIN(GOMP_OFFLOAD_dev2dev)(0, copy, memory, SIZE), "%s", last_error);
      CHECK(PLUGIN(GOMP_OFFLOAD_dev2host)(0, back, copy, SIZE), "%s", last_error);
      CHECK(back[0] == (round & 255) && back[SIZE - 1] == (round & 255), "round %d: %d and %d", round, back[0],
            back[SIZE - 1]);
    }
    if (round % 11 == 0) {
      /* Its next owner sees nothing of copies that were made before. */
      CHECK(PLUGIN(GOMP_OFFLOAD_free)(0, memory), "%s", last_error);
      memory = PLUGIN(GOMP_OFFLOAD_alloc)(0, SIZE);
      CHECK(memory && PLUGIN(GOMP_OFFLOAD_memset)(0, memory, 1, SIZE), "%s", last_error);
      CHECK(PLUGIN(GOMP_OFFLOAD_dev2host)(0, back, memory, SIZE), "%s", last_error);
      CHECK(back[0] == 1 && back[SIZE - 1] == 1, "round %d: %d and %d", round, back[0], back[SIZE - 1]);
    }
  }
  CHECK(errors == 0, "a message although all went well: %s", last_error);
  return 0;
}
