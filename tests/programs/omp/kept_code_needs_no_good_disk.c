// boomerang: checks: a cache whose folder is full, read-only or no folder costs nothing but time, and a process killed as it writes there harms no other
// boomerang: plugins: ours
// boomerang: gpu-timeout: 90
// boomerang: env: GOMP_DEBUG=1 CUDA_CACHE_DISABLE=1
// boomerang: flags: -rdynamic
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>

#include "kept_code.h"

static enum { GOOD, FULL, KILLS } disk;

/* In place of the C library's. Only what is compiled is written in large pieces. */
ssize_t write(int file, const void *bytes, size_t count) {
  if (count < 1000 || disk == GOOD)
    return syscall(SYS_write, file, bytes, count);
  if (disk == KILLS) {
    syscall(SYS_write, file, bytes, count / 2);
    kill(getpid(), SIGKILL);
  }
  errno = ENOSPC;
  return -1;
}

static void in_folder(void) { setenv("BOOMERANG_CACHE", "folder", 1); }

static void killed(void) {
  in_folder();
  disk = KILLS;
}

static void full(void) {
  in_folder();
  disk = FULL;
}

/* Read-only for root, too. */
static void read_only(void) { setenv("BOOMERANG_CACHE", "/proc/boomerang", 1); }

static void in_a_file(void) { setenv("BOOMERANG_CACHE", "file", 1); }

static void below_a_file(void) { setenv("BOOMERANG_CACHE", "file/below", 1); }

static void homeless(void) {
  unsetenv("BOOMERANG_CACHE");
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
}

int main(void) {
  char path[600];
  void (*useless[])(void) = {full, read_only, in_a_file, below_a_file, homeless};
  CHECK(fclose(fopen("file", "w")) == 0, "no file");
  for (size_t i = 0; i < sizeof useless / sizeof *useless; i++) {
    CHECK_REGION(useless[i], COMPILED);
  }
  CHECK(files("folder", "", path) == 2, "a full disk leaves something beside . and ..");

  int status = region(killed);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "not killed: status %x, it said:\n%s", status, said);
  CHECK(files("folder", ".tmp", path) == 1 && files("folder", ".cubin", path) == 0, "killed, but not as it wrote");
  CHECK_REGION(in_folder, COMPILED);
  CHECK_REGION(in_folder, FOUND);
  CHECK(files("folder", ".cubin", path) == 1, "not one entry");
  return 0;
}
