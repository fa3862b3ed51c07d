// boomerang: checks: a copy of a few bytes to the device changes these and no others, whatever their address, and comes after the copy before it and before the next
// boomerang: variants: BOOMERANG_SIM_FAIL=cuStreamBatchMemOp=1 | BOOMERANG_WAIT=poll
#include "plugin.h"

enum { SIZE = 64, MOST = 24 };

int main(void) {
  start_plugin(0);
  unsigned char before[SIZE], few[MOST], after[SIZE];
  char *memory = PLUGIN(GOMP_OFFLOAD_alloc)(0, SIZE);
  CHECK(memory, "no memory: %s", last_error);
  for (int bytes = 1; bytes <= MOST; bytes++)
    for (int at = 0; at < 16; at++) {
      for (int i = 0; i < SIZE; i++)
        before[i] = (unsigned char)(bytes * 7 + at * 31 + i);
      CHECK(PLUGIN(GOMP_OFFLOAD_host2dev)(0, memory, before, SIZE), "%s", last_error);
      /* Twice: the second overwrites the first. */
      for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < bytes; i++)
          few[i] = (unsigned char)~(before[at + i] + turn);
        CHECK(PLUGIN(GOMP_OFFLOAD_host2dev)(0, memory + at, few, bytes), "%s", last_error);
      }
      memset(few, 0, sizeof few);
      CHECK(PLUGIN(GOMP_OFFLOAD_dev2host)(0, after, memory, SIZE), "%s", last_error);
      for (int i = 0; i < SIZE; i++) {
        unsigned char expected = (unsigned char)(i >= at && i < at + bytes ? ~(before[i] + 1) : before[i]);
        CHECK(after[i] == expected, "%d bytes at %d: byte %d is %d, not %d", bytes, at, i, after[i], expected);
      }
    }
  CHECK(errors == 0, "a message although all went well: %s", last_error);
  return 0;
}
