/* The one check that programs use: says what was wrong and ends the program. Host code only. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition, ...)                                           \
  do {                                                                  \
    if (!(condition)) {                                                 \
      fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);   \
      fprintf(stderr, __VA_ARGS__);                                     \
      fputc('\n', stderr);                                              \
      exit(1);                                                          \
    }                                                                   \
  } while (0)

#endif
