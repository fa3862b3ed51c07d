/* The host's part of device_code_calls_the_host.c. */
#include "device_code_calls_the_host.h"

#include <dlfcn.h>
#include <gomp_plugin.h>
#include <omp.h>

#include "../check.h"

int calls, posts, counts[1000];

static void handle(uint32_t opcode, void *data, uint32_t bytes, void *context) {
  struct message *m = data;
  CHECK(context == counts, "another context");
  if (opcode == COUNT) {
    CHECK(bytes == sizeof(int), "%u bytes posted", bytes);
    int id = *(int *)data;
    CHECK(id >= 0 && id < 1000, "%d was posted", id);
    counts[id]++;
    posts++;
    return;
  }
  CHECK(bytes == sizeof *m && (opcode == TRIPLE || opcode == SQUARE), "opcode %u, %u bytes", opcode, bytes);
  m->answer = m->value * (opcode == TRIPLE ? 3 : m->value);
  calls++;
}

void add_calls(int *x) { *x += calls; }

void register_handler(void) {
  CHECK(omp_get_num_devices() > 0, "no device");
  void *plugin = dlopen("libgomp-plugin-nvptx.so.1", RTLD_LAZY | RTLD_NOLOAD);
  CHECK(plugin, "%s", dlerror());
  __typeof__(&boomerang_set_call_handler) set = dlsym(plugin, "boomerang_set_call_handler");
  CHECK(set, "%s", dlerror());
  set(handle, counts);
}
