/* Clocks, repetition, and the lines that a bench prints. */
#ifndef BENCH_H
#define BENCH_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stdint.h>
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

static inline void report_part(const char *name, const char *part, double value, const char *unit) {
  char whole[100];
  snprintf(whole, sizeof whole, "%s-%s", name, part);
  report(whole, value, unit);
}

static inline int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Prints median, 99th percentile and maximum of `n` samples in microseconds, and sorts them. */
static inline void report_samples(const char *name, double *samples, int n) {
  qsort(samples, (size_t)n, sizeof *samples, compare_doubles);
  report(name, samples[n / 2], "us");
  report_part(name, "p99", samples[n - 1 - n / 100], "us");
  report_part(name, "max", samples[n - 1], "us");
}

/* What the simulator counts: calls of the driver, and instructions of kernels. A GPU's driver counts nothing. */
static inline int sim_counts(uint64_t *calls, uint64_t *instructions) {
  static int (*counts)(uint64_t *, uint64_t *);
  if (!counts) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    *(void **)&counts = driver ? dlsym(driver, "boomerangSimCounts") : 0;
  }
  return counts && counts(calls, instructions) == 0;
}

/* One step timed many times: for (begin(&s, ...); more(&s); lap(&s)) step. */
struct series {
  int count, most, warm_up;
  double start, end;
  uint64_t calls, instructions;
  double samples[10000];
};

/* `most` samples, or as many as fit into a second, one at least, after a warm-up. */
static inline void begin(struct series *s, int most, int warm_up) {
  s->count = -warm_up;
  s->most = most;
}

static inline int more(struct series *s) {
  if (s->count == 0) {
    s->end = now() + 1e6;
    sim_counts(&s->calls, &s->instructions);
  }
  s->start = now();
  return s->count < 1 || (s->count < s->most && s->start < s->end);
}

static inline void lap(struct series *s) {
  if (s->count >= 0)
    s->samples[s->count] = now() - s->start;
  s->count++;
}

/* What one lap had the simulator do. */
static inline void report_counts(const char *name, const struct series *s) {
  uint64_t calls, instructions;
  if (!sim_counts(&calls, &instructions))
    return;
  report_part(name, "driver", (double)(calls - s->calls) / s->count, "calls");
  if (instructions > s->instructions)
    report_part(name, "device", (double)(instructions - s->instructions) / s->count, "instructions");
}

/* Prints the time of one of the `parts` that each lap consists of. */
static inline void report_series(const char *name, struct series *s, double parts) {
  report_counts(name, s);
  for (int i = 0; i < s->count; i++)
    s->samples[i] /= parts;
  report_samples(name, s->samples, s->count);
}

/* Prints the rate at which laps of `bytes` moved them; its p99 is that of the lap at the 99th percentile. */
static inline void report_bandwidth(const char *name, struct series *s, double bytes) {
  report_counts(name, s);
  qsort(s->samples, (size_t)s->count, sizeof *s->samples, compare_doubles);
  report(name, bytes * 1e-3 / s->samples[s->count / 2], "GB/s");
  report_part(name, "p99", bytes * 1e-3 / s->samples[s->count - 1 - s->count / 100], "GB/s");
}

#endif
