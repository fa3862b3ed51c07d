// boomerang: checks: kept device code that was cut, changed, emptied or replaced is not used; it is compiled again and the entry mended
// boomerang: plugins: ours
// boomerang: gpu-timeout: 90
// boomerang: env: GOMP_DEBUG=1 BOOMERANG_CACHE=folder
#include <fcntl.h>

#include "kept_code.h"

static char entry[600];

static void nothing(void) {}

static void cut(void) { CHECK(truncate(entry, 1000) == 0, "%s", entry); }

static void empty(void) { CHECK(truncate(entry, 0) == 0, "%s", entry); }

static void change(void) {
  int file = open(entry, O_RDWR);
  char byte;
  CHECK(file >= 0 && pread(file, &byte, 1, 1000) == 1, "%s", entry);
  byte ^= 1;
  CHECK(pwrite(file, &byte, 1, 1000) == 1 && close(file) == 0, "%s", entry);
}

static void append(void) {
  FILE *file = fopen(entry, "a");
  CHECK(file && fputs("more", file) >= 0 && fclose(file) == 0, "%s", entry);
}

static void replace_by_link(void) { CHECK(!unlink(entry) && !symlink("/dev/zero", entry), "%s", entry); }

static void replace_by_pipe(void) { CHECK(!unlink(entry) && !mkfifo(entry, 0600), "%s", entry); }

int main(void) {
  CHECK_REGION(nothing, COMPILED);
  CHECK(files("folder", ".cubin", entry) == 1, "not one entry");
  void (*damages[])(void) = {cut, empty, change, append, replace_by_link, replace_by_pipe};
  for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
    CHECK_REGION(nothing, FOUND);
    damages[i]();
    CHECK_REGION(nothing, COMPILED);
  }
  CHECK_REGION(nothing, FOUND);

  /* What can't be mended does no harm. */
  CHECK(!unlink(entry) && !mkdir(entry, 0700), "%s", entry);
  CHECK_REGION(nothing, COMPILED);
  CHECK_REGION(nothing, COMPILED);
  CHECK(files("folder", "", entry) == 3, "something is left beside the folder, . and ..");
  return 0;
}
