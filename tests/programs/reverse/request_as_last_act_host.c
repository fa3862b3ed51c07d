/* The host's part of request_as_last_act.c. */
#include "../check.h"

static int count;

void count_request(int round) {
  CHECK(round == count, "request of region %d served as number %d", round, count);
  count++;
}

int requests_counted(void) { return count; }
