// boomerang: checks: processes that start at once with one empty cache all get their code, and leave one entry
// boomerang: plugins: ours
// boomerang: gpu-timeout: 90
// boomerang: env: GOMP_DEBUG=1 BOOMERANG_CACHE=folder
#include "kept_code.h"

enum { PROCESSES = 8 };

static void nothing(void) {}

int main(void) {
  pid_t children[PROCESSES];
  int outputs[PROCESSES], status;
  char path[600];
  for (int i = 0; i < PROCESSES; i++)
    children[i] = start_region(nothing, &outputs[i]);
  for (int i = 0; i < PROCESSES; i++) {
    status = end_region(children[i], outputs[i]);
    CHECK(status == 0, "status %x, it said:\n%s", status, said);
    CHECK(strstr(said, COMPILED) || strstr(said, FOUND), "it said:\n%s", said);
  }
  CHECK(files("folder", ".cubin", path) == 1, "not one entry");
  CHECK(files("folder", "", path) == 3, "something is left beside the entry, . and ..");
  CHECK_REGION(nothing, FOUND);
  return 0;
}
