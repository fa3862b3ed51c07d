// boomerang: checks: variables of an image are found with their sizes and initial values, anew in each load
#include "plugin.h"

#include "kernel.h"

static const struct boomerang_ptx_object object = {PTX_50 REPORT_PTX, sizeof(PTX_50 REPORT_PTX)};
static const struct boomerang_function kernel = {"report", {0, 0, 0}};
static const char *const variables[] = {"counter"};
static const struct boomerang_image image = {&object, 1, variables, 1, &kernel, 1, 0};

int main(void) {
  start_plugin(0);
  char *memory = PLUGIN(GOMP_OFFLOAD_alloc)(0, sizeof(struct report));
  CHECK(memory && PLUGIN(GOMP_OFFLOAD_memset)(0, memory, 0, sizeof(struct report)), "no memory: %s", last_error);
  for (int round = 0; round < 3; round++) {
    struct addr_pair *table = 0;
    unsigned value = 0;
    void *args[] = {(void *)(7L << 16 | 1 << 8), (void *)(1L << 16 | 2 << 8), 0};
    int entries = PLUGIN(GOMP_OFFLOAD_load_image)(0, IMAGE_VERSION, &image, &table, 0, 0);
    CHECK(entries == 3, "%d entries: %s", entries, last_error);
    CHECK(table[1].end - table[1].start == 4, "the variable has %ld bytes", (long)(table[1].end - table[1].start));
    CHECK(PLUGIN(GOMP_OFFLOAD_dev2host)(0, &value, (void *)table[1].start, 4), "%s", last_error);
    CHECK(value == 5, "the variable starts as %u in round %d", value, round);
    PLUGIN(GOMP_OFFLOAD_run)(0, (void *)table[0].start, memory, args);
    CHECK(PLUGIN(GOMP_OFFLOAD_dev2host)(0, &value, (void *)table[1].start, 4), "%s", last_error);
    CHECK(value == 5 + 7, "7 teams left %u", value);
    CHECK(PLUGIN(GOMP_OFFLOAD_unload_image)(0, IMAGE_VERSION, &image), "unload: %s", last_error);
    free(table);
  }
  return 0;
}
