// boomerang: checks: compiled device code is kept on disk and found by the next process, unless something else is asked for or BOOMERANG_CACHE=off
// boomerang: plugins: ours
// boomerang: gpu-timeout: 90
// boomerang: env: GOMP_DEBUG=1
#include "kept_code.h"

static void in_folder(void) { setenv("BOOMERANG_CACHE", "folder/below", 1); }

static void off(void) { setenv("BOOMERANG_CACHE", "off", 1); }

static void at_level_1(void) {
  in_folder();
  setenv("GOMP_NVPTX_JIT", "-O1", 1);
}

static void whole_code(void) {
  in_folder();
  setenv("BOOMERANG_PTX_OPT", "0", 1);
}

static void in_users_folder(void) {
  unsetenv("BOOMERANG_CACHE");
  setenv("XDG_CACHE_HOME", getcwd(0, 0), 1);
}

static void in_home(void) {
  unsetenv("BOOMERANG_CACHE");
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", getcwd(0, 0), 1);
}

int main(void) {
  char path[600];
  CHECK_REGION(in_folder, COMPILED);
  CHECK(files("folder/below", ".cubin", path) == 1, "not one entry");
  CHECK_REGION(in_folder, FOUND);
  CHECK_REGION(in_folder, FOUND);
  CHECK(files("folder/below", ".cubin", path) == 1, "not one entry");

  CHECK_REGION(at_level_1, COMPILED);
  CHECK_REGION(whole_code, COMPILED);
  CHECK(files("folder/below", ".cubin", path) == 3, "not three entries");
  CHECK_REGION(at_level_1, FOUND);
  CHECK_REGION(whole_code, FOUND);
  CHECK_REGION(in_folder, FOUND);

  CHECK_REGION(off, COMPILED);
  CHECK_REGION(off, COMPILED);
  CHECK(access("off", F_OK), "a folder named off");
  CHECK_REGION(in_users_folder, COMPILED);
  CHECK(files("boomerang", ".cubin", path) == 1, "nothing in XDG_CACHE_HOME");
  CHECK_REGION(in_users_folder, FOUND);
  CHECK_REGION(in_home, COMPILED);
  CHECK(files(".cache/boomerang", ".cubin", path) == 1, "nothing in HOME");
  return 0;
}
