/* Regions in processes of their own, and what is in the cache that they use. */
#ifndef KEPT_CODE_H
#define KEPT_CODE_H

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../check.h"

/* What the plugin said in the last process; GOMP_DEBUG=1 makes it say where the code came from. */
static char said[1 << 20];

/* Starts a process that calls `prepare` and runs a region; what it says can be read from `*output`. */
static inline pid_t start_region(void (*prepare)(void), int *output) {
  int ends[2];
  CHECK(pipe(ends) == 0, "no pipe");
  pid_t child = fork();
  CHECK(child >= 0, "no process");
  if (child == 0) {
    dup2(ends[1], 2);
    close(ends[0]);
    close(ends[1]);
    prepare();
    int x = 1;
#pragma omp target map(tofrom : x)
    x++;
    exit(x != 2);
  }
  close(ends[1]);
  *output = ends[0];
  return child;
}

/* Waits for such a process and returns its status. */
static inline int end_region(pid_t child, int output) {
  size_t length = 0;
  ssize_t got;
  while ((got = read(output, said + length, sizeof said - 1 - length)) > 0)
    length += (size_t)got;
  said[length] = 0;
  close(output);
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child, "no process to wait for");
  return status;
}

static inline int region(void (*prepare)(void)) {
  int output;
  pid_t child = start_region(prepare, &output);
  return end_region(child, output);
}

/* Expects that the region of a process gave the right result, and that its code was compiled or found. */
#define CHECK_REGION(prepare, where)                                  \
  do {                                                                \
    int status = region(prepare);                                     \
    CHECK(status == 0, "status %x, it said:\n%s", status, said);      \
    CHECK(strstr(said, where), "not \"%s\", it said:\n%s", where, said); \
  } while (0)
#define COMPILED "compiled in"
#define FOUND "compiled before"

/* How many files in a folder have this ending; the path of the last one is put into `path`. */
static inline int files(const char *folder, const char *ending, char path[600]) {
  int count = 0;
  DIR *entries = opendir(folder);
  for (struct dirent *entry; entries && (entry = readdir(entries));) {
    size_t length = strlen(entry->d_name), end = strlen(ending);
    if (length > end && !strcmp(entry->d_name + length - end, ending)) {
      snprintf(path, 600, "%s/%s", folder, entry->d_name);
      count++;
    }
  }
  if (entries)
    closedir(entries);
  return count;
}

#endif
