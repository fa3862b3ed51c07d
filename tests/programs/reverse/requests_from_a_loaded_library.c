// boomerang: checks: regions of a library loaded by dlopen make requests of their own beside those of the program
// boomerang: sources: requests_from_a_loaded_library_host.c
// boomerang: library: requests_from_a_loaded_library_so.c
// boomerang: timeout: 20
// boomerang: flags: -ldl -rdynamic
// boomerang: stock: dies: only the first image with requests gets a request word; the requests of others are dropped
// boomerang: variants: BOOMERANG_DEVICE_RUNTIME=stock
#include <dlfcn.h>
#include <libgen.h>

#include "../check.h"

#pragma omp requires reverse_offload

void add_to_host(int *x, int y);

static int own_region(int x) {
#pragma omp target map(tofrom : x)
  {
    int v = x;
#pragma omp target device(ancestor : 1) map(always, tofrom : v)
    add_to_host(&v, 1);
    x = v;
  }
  return x;
}

int main(int argc, char **argv) {
  char path[4096];
  CHECK(argc > 0, "the program needs to know where it lies");
  snprintf(path, sizeof path, "%s/requests_from_a_loaded_library_so.so", dirname(argv[0]));
  CHECK(own_region(1) == 2, "before the library was loaded");
  /* It stays loaded: libgomp forgets the request functions of all images when it unloads one. */
  void *library = dlopen(path, RTLD_NOW);
  CHECK(library, "%s", dlerror());
  int (*library_region)(int) = (int (*)(int))dlsym(library, "library_region");
  CHECK(library_region, "%s", dlerror());
  for (int round = 0; round < 5; round++) {
    int x = library_region(10);
    CHECK(x == 110, "round %d: the library's region gave %d", round, x);
    x = own_region(20);
    CHECK(x == 21, "round %d: the program's region beside the library's gave %d", round, x);
  }
  return 0;
}
