// boomerang: checks: a library that brings regions of its own may be loaded, used and unloaded again and again beside the program's
// boomerang: library: images_of_a_loaded_library_so.c
// boomerang: flags: -ldl
#include <dlfcn.h>
#include <libgen.h>

#include "../check.h"

static int own_region(int x) {
#pragma omp target map(tofrom : x)
  x += 1;
  return x;
}

int main(int argc, char **argv) {
  char path[4096];
  CHECK(argc > 0, "the program needs to know where it lies");
  snprintf(path, sizeof path, "%s/images_of_a_loaded_library_so.so", dirname(argv[0]));
  CHECK(own_region(1) == 2, "before the library was loaded");
  for (int round = 0; round < 5; round++) {
    void *library = dlopen(path, RTLD_NOW);
    CHECK(library, "%s", dlerror());
    int (*library_region)(int) = (int (*)(int))dlsym(library, "library_region");
    CHECK(library_region, "%s", dlerror());
    for (int i = 1; i <= 3; i++) {
      /* The library's device variable starts anew each time it is loaded. */
      int x = library_region(10);
      CHECK(x == 10 * i + 5, "round %d: call %d of the library's region gave %d", round, i, x);
      CHECK(own_region(i) == i + 1, "round %d: the program's region beside the library's", round);
    }
    CHECK(!dlclose(library), "%s", dlerror());
    CHECK(own_region(7) == 8, "after the library was unloaded");
  }
  return 0;
}
