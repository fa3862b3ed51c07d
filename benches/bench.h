/* Clocks, and the lines that a bench prints. */
#ifndef BENCH_H
#define BENCH_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline double microseconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* Wall-clock time. */
static inline double now(void) { return microseconds(CLOCK_MONOTONIC); }

/* CPU time of all threads. */
static inline double cpu_now(void) { return microseconds(CLOCK_PROCESS_CPUTIME_ID); }

static inline void report(const char *name, double value, const char *unit) {
  printf("result: %s %.3f %s\n", name, value, unit);
  fflush(stdout);
}

static inline int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Prints median, 99th percentile and maximum of `n` samples in microseconds, and sorts them. */
static inline void report_samples(const char *name, double *samples, int n) {
  char long_name[100];
  qsort(samples, (size_t)n, sizeof *samples, compare_doubles);
  report(name, samples[n / 2], "us");
  snprintf(long_name, sizeof long_name, "%s-p99", name);
  report(long_name, samples[n - 1 - n / 100], "us");
  snprintf(long_name, sizeof long_name, "%s-max", name);
  report(long_name, samples[n - 1], "us");
}

#endif
