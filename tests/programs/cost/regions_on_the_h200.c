// boomerang: checks: regions on the H200's platform take about what they took on an H200
// boomerang: on: sim
// boomerang: flags: -ldl
#define _GNU_SOURCE
#include <libgen.h>
#include <string.h>

#include "platform.h"

/* Compares with figures of docs/gpu-runs.md, in us. */
static void compare(const char *what, long ns, double least, double most) {
  printf("%s: %.1f us, measured %.1f to %.1f us\n", what, (double)ns / 1e3, least, most);
  double middle = (least + most) / 2;
  CHECK((double)ns / 1e3 > middle * 0.75 && (double)ns / 1e3 < middle * 1.25, "%s takes %ld ns", what, ns);
}

int main(void) {
  Dl_info library;
  CHECK(dladdr(driver("cuInit"), &library), "dladdr");
  char path[4096];
  snprintf(path, sizeof path, "%s/h200.toml", dirname(strdup(library.dli_fname)));
  CHECK(setenv("BOOMERANG_SIM_PLATFORM", path, 1) == 0, "setenv");

#pragma omp target
  ;
  void *plugin = dlopen("libgomp-plugin-nvptx.so.1", RTLD_LAZY | RTLD_NOLOAD);
  CHECK(plugin, "%s", dlerror());
  int is_ours = dlsym(plugin, "boomerang_set_call_handler") != 0;
  enter_context();
  void *begin = mark();
#pragma omp target
  ;
  compare("an empty region", between(begin, mark()), is_ours ? 8.4 : 12.5, is_ours ? 9.7 : 14.2);

  int number = 1;
  begin = mark();
#pragma omp target map(tofrom : number)
  number++;
  compare("a region that maps an int", between(begin, mark()), is_ours ? 18.2 : 24.6, is_ours ? 20.9 : 32);
  CHECK(number == 2, "%d", number);
  return 0;
}
