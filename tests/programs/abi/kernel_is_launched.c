// boomerang: checks: a kernel gets its variables, soft stacks of the size told, and as many teams and threads as asked for
#include "plugin.h"

#include "kernel.h"

IMAGE(image_50, PTX_50 REPORT_PTX, "report");
IMAGE(image_70, PTX_70 REPORT_PTX, "report");

/* GOMP_TARGET_ARG_NUM_TEAMS and _THREAD_LIMIT for all devices (gomp-constants.h), values inline, ended by 0. */
static void *teams(long n) { return (void *)(n << 16 | 1 << 8); }
static void *limit(long n) { return (void *)(n << 16 | 2 << 8); }

static struct report launch(void *kernel, void *memory, long team_count, long thread_limit) {
  struct report r = {0};
  void *args[] = {teams(team_count), limit(thread_limit), 0};
  CHECK(PLUGIN(GOMP_OFFLOAD_host2dev)(0, memory, &r, sizeof r), "%s", last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_can_run)(kernel), "the kernel can't run");
  PLUGIN(GOMP_OFFLOAD_run)(0, kernel, memory, args);
  CHECK(PLUGIN(GOMP_OFFLOAD_dev2host)(0, &r, memory, sizeof r), "%s", last_error);
  return r;
}

static void check(const struct boomerang_image *image, void *memory) {
  struct addr_pair *table = 0;
  int entries = PLUGIN(GOMP_OFFLOAD_load_image)(0, IMAGE_VERSION, image, &table, 0, 0);
  /* The kernel, and the device's ICVs, which this image lacks. */
  CHECK(entries == 2, "%d entries: %s", entries, last_error);
  CHECK(table[0].start && table[1].start == 0 && table[1].end == 0, "the table is wrong");
  void *kernel = (void *)table[0].start;

  struct report one = launch(kernel, memory, 1, 1);
  CHECK(one.teams == 1 && one.lanes == 32, "1 team, 1 thread: %u teams, %u lanes", one.teams, one.lanes);
  CHECK(one.width == 32 && one.height == 1, "1 team, 1 thread: blocks of %u x %u", one.width, one.height);
  CHECK(one.stacks && one.stack_size >= 1024 && one.stack_sum == 1, "a stack of %lu bytes at %#lx held %lu",
        (long)one.stack_size, (long)one.stacks, (long)one.stack_sum);

  struct report many = launch(kernel, memory, 10, 4);
  CHECK(many.teams == 10 && many.height == 4, "10 teams, 4 threads: %u teams of %u threads", many.teams, many.height);
  CHECK(many.lanes == 10 * 4 * 32, "10 teams, 4 threads: %u lanes", many.lanes);
  CHECK(many.stack_sum == 40 * 41 / 2, "40 stacks held %lu", (long)many.stack_sum);

  /* No limits given: whatever the plugin chooses, its parts agree. */
  struct report free_choice = launch(kernel, memory, 0, 0);
  CHECK(free_choice.teams >= 1 && free_choice.lanes == free_choice.teams * free_choice.height * 32,
        "no limits: %u teams of %u threads, %u lanes", free_choice.teams, free_choice.height, free_choice.lanes);
  CHECK(PLUGIN(GOMP_OFFLOAD_unload_image)(0, IMAGE_VERSION, image), "unload: %s", last_error);
  free(table);
}

int main(void) {
  start_plugin(0);
  void *memory = PLUGIN(GOMP_OFFLOAD_alloc)(0, sizeof(struct report));
  CHECK(memory, "no memory: %s", last_error);
  check(&image_50, memory);
  check(&image_70, memory);
  CHECK(PLUGIN(GOMP_OFFLOAD_free)(0, memory), "free: %s", last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_fini_device)(0), "fini: %s", last_error);
  return 0;
}
