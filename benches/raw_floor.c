// boomerang: measures: what the CUDA driver alone needs for the same steps: the floor for the first region, for regions and for requests
// boomerang: compiler: system
#include <pthread.h>

#include "bench.h"
#include "raw.h"

static int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
static int (*synchronize_stream)(void *);
static int (*write_value)(void *, uint64_t, uint32_t, unsigned);

static const char ptx[] =
    ".version 6.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry empty() { ret; }\n"
    /* `count` times: stores its number to the first word and waits until the second is that number. */
    ".visible .entry ping(.param .u64 words, .param .u32 count) {\n"
    "  .reg .u64 %p; .reg .u32 %n, %i, %r; .reg .pred %c;\n"
    "  ld.param.u64 %p, [words];\n  ld.param.u32 %n, [count];\n  mov.u32 %i, 0;\n"
    "next:\n  add.u32 %i, %i, 1;\n  st.release.sys.u32 [%p], %i;\n"
    "wait:\n  ld.acquire.sys.u32 %r, [%p+64];\n  setp.ne.u32 %c, %r, %i;\n  @%c bra wait;\n"
    "  setp.lt.u32 %c, %i, %n;\n  @%c bra next;\n  ret;\n}\n"
    /* Runs for as many nanoseconds as told. */
    ".visible .entry idle(.param .u64 time) {\n"
    "  .reg .u64 %t, %s, %e; .reg .pred %c;\n"
    "  ld.param.u64 %t, [time];\n  mov.u64 %s, %globaltimer;\n"
    "more:\n  mov.u64 %e, %globaltimer;\n  sub.u64 %e, %e, %s;\n  setp.lt.u64 %c, %e, %t;\n  @%c bra more;\n  ret;\n}\n";

static void run(void *function, void *stream, void **arguments) {
  check(launch(function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, 0), "cuLaunchKernel");
}

enum { REGIONS = 5000, REQUESTS = 10000, WARM_UP = 100, THREADS = 8, THREAD_REQUESTS = 2000, ROUNDS = 20 };
static struct series s;

static void region_floor(void *empty, void *stream, volatile uint32_t *word) {
  for (begin(&s, REGIONS, WARM_UP); more(&s); lap(&s)) {
    run(empty, stream, 0);
    check(synchronize_stream(stream), "cuStreamSynchronize");
  }
  report_series("empty-region", &s, 1);
  for (begin(&s, REGIONS, WARM_UP); more(&s); lap(&s)) {
    *word = 0;
    run(empty, stream, 0);
    check(write_value(stream, (uintptr_t)word, 1, 0), "cuStreamWriteValue32");
    while (!*word)
      ;
  }
  check(synchronize_stream(stream), "cuStreamSynchronize");
  report_series("empty-region-end-word", &s, 1);
}

static void request_floor(void *ping, void *stream, uint32_t *words) {
  uint32_t count = REQUESTS + 1;
  void *arguments[] = {&words, &count};
  words[0] = words[16] = 0;
  double last = 0, cpu = cpu_now();
  run(ping, stream, arguments);
  for (uint32_t i = 1; i <= count; i++) {
    while (__atomic_load_n(&words[0], __ATOMIC_ACQUIRE) != i)
      ;
    double stamp = now();
    if (i > 1)
      s.samples[i - 2] = stamp - last;
    last = stamp;
    __atomic_store_n(&words[16], i, __ATOMIC_RELEASE);
  }
  check(synchronize_stream(stream), "cuStreamSynchronize");
  cpu = (cpu_now() - cpu) / REQUESTS;
  report_samples("request-nothing-mapped", s.samples, REQUESTS);
  report("request-nothing-mapped-cpu", cpu, "us");
}

/* One of the threads that answer a kernel each. */
struct answerer {
  void *context, *ping, *stream;
  uint32_t *words;
};

static void *answer(void *argument) {
  struct answerer *me = argument;
  uint32_t count = THREAD_REQUESTS;
  void *arguments[] = {&me->words, &count};
  check(RAW(int, cuCtxSetCurrent, void *)(me->context), "cuCtxSetCurrent");
  me->words[0] = me->words[16] = 0;
  run(me->ping, me->stream, arguments);
  for (uint32_t i = 1; i <= count; i++) {
    while (__atomic_load_n(&me->words[0], __ATOMIC_ACQUIRE) != i)
      ;
    __atomic_store_n(&me->words[16], i, __ATOMIC_RELEASE);
  }
  check(synchronize_stream(me->stream), "cuStreamSynchronize");
  return 0;
}

/* `n` threads at once. */
static void threads_floor(const char *name, struct answerer *answerers, int n) {
  pthread_t threads[THREADS];
  for (begin(&s, ROUNDS, 1); more(&s); lap(&s)) {
    for (int t = 0; t < n; t++)
      if (pthread_create(&threads[t], 0, answer, &answerers[t]))
        exit(1);
    for (int t = 0; t < n; t++)
      pthread_join(threads[t], 0);
  }
  report_series(name, &s, n * THREAD_REQUESTS);
}

static void idle_floor(void *idle, void *stream) {
  int (*record)(void *, void *) = RAW(int, cuEventRecord, void *, void *);
  int (*synchronize)(void *) = RAW(int, cuEventSynchronize, void *);
  uint64_t time = 200000000;
  void *event, *arguments[] = {&time};
  check(RAW(int, cuEventCreate, void **, unsigned)(&event, BLOCKING_EVENT), "cuEventCreate");
  double best = 1e12;
  for (int round = 0; round < 5; round++) {
    double cpu = cpu_now();
    run(idle, stream, arguments);
    check(record(event, stream), "cuEventRecord");
    check(synchronize(event), "cuEventSynchronize");
    cpu = cpu_now() - cpu;
    if (cpu < best)
      best = cpu;
  }
  report("idle-cpu-200ms", best * 1e-3, "ms");
}

int main(void) {
  int (*function)(void **, void *, const char *) = RAW(int, cuModuleGetFunction, void **, void *, const char *);
  *(void **)&launch = raw_function("cuLaunchKernel");
  *(void **)&synchronize_stream = raw_function("cuStreamSynchronize");
  *(void **)&write_value = raw_function("cuStreamWriteValue32_v2");
  void *before, *module, *empty, *ping, *idle, *stream;
  double first = now();
  raw_start_context(&before);
  check(RAW(int, cuModuleLoadData, void **, const void *)(&module, ptx), "cuModuleLoadData");
  check(function(&empty, module, "empty"), "cuModuleGetFunction");
  check(RAW(int, cuStreamCreate, void **, unsigned)(&stream, NON_BLOCKING), "cuStreamCreate");
  run(empty, stream, 0);
  check(synchronize_stream(stream), "cuStreamSynchronize");
  report("first-region-warm", now() - first, "us");

  check(function(&ping, module, "ping"), "cuModuleGetFunction");
  check(function(&idle, module, "idle"), "cuModuleGetFunction");
  enum { WORDS = 1024 }; /* A page each. */
  uint32_t *words = raw_pinned(THREADS * WORDS * sizeof *words);
  struct answerer answerers[THREADS];
  for (int t = 0; t < THREADS; t++) {
    answerers[t] = (struct answerer){.ping = ping, .words = words + t * WORDS};
    check(RAW(int, cuCtxGetCurrent, void **)(&answerers[t].context), "cuCtxGetCurrent");
    check(RAW(int, cuStreamCreate, void **, unsigned)(&answerers[t].stream, NON_BLOCKING), "cuStreamCreate");
  }
  region_floor(empty, stream, words);
  request_floor(ping, stream, words);
  threads_floor("request-1-thread", answerers, 1);
  threads_floor("request-8-threads", answerers, THREADS);
  idle_floor(idle, stream);
  return 0;
}
