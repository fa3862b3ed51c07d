// boomerang: measures: what the CUDA driver alone needs for the same steps: the floor for regions and requests
// boomerang: compiler: system
#include <dlfcn.h>
#include <stdint.h>

#include "bench.h"

/* The little of the driver's interface that this needs; the numbers are those of cuda.h. */
enum { HOST_MAPPED = 3, NON_BLOCKING = 1, BLOCKING_EVENT = 1 };

static int (*init)(unsigned);
static int (*retain)(void **, int);
static int (*set_current)(void *);
static int (*load)(void **, const void *);
static int (*get_function)(void **, void *, const char *);
static int (*create_stream)(void **, unsigned);
static int (*synchronize_stream)(void *);
static int (*allocate_host)(void **, size_t, unsigned);
static int (*create_event)(void **, unsigned);
static int (*record_event)(void *, void *);
static int (*synchronize_event)(void *);
static int (*write_value)(void *, uint64_t, uint32_t, unsigned);
static int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);

static const struct {
  void *function;
  const char *name;
} table[] = {
    {&init, "cuInit"},
    {&retain, "cuDevicePrimaryCtxRetain"},
    {&set_current, "cuCtxSetCurrent"},
    {&load, "cuModuleLoadData"},
    {&get_function, "cuModuleGetFunction"},
    {&create_stream, "cuStreamCreate"},
    {&synchronize_stream, "cuStreamSynchronize"},
    {&allocate_host, "cuMemHostAlloc"},
    {&create_event, "cuEventCreate"},
    {&record_event, "cuEventRecord"},
    {&synchronize_event, "cuEventSynchronize"},
    {&write_value, "cuStreamWriteValue32_v2"},
    {&launch, "cuLaunchKernel"},
};

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

static void check(int error, const char *what) {
  if (error) {
    fprintf(stderr, "%s failed with %d\n", what, error);
    exit(1);
  }
}

static void run(void *function, void *stream, void **arguments) {
  check(launch(function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, 0), "cuLaunchKernel");
}

enum { REGIONS = 5000, REQUESTS = 10000 };
static double samples[REQUESTS];

static void region_floor(void *empty, void *stream, volatile uint32_t *word) {
  for (int i = -100; i < REGIONS; i++) {
    double start = now();
    run(empty, stream, 0);
    check(synchronize_stream(stream), "cuStreamSynchronize");
    if (i >= 0)
      samples[i] = now() - start;
  }
  report_samples("empty-region", samples, REGIONS);
  for (int i = -100; i < REGIONS; i++) {
    double start = now();
    *word = 0;
    run(empty, stream, 0);
    check(write_value(stream, (uintptr_t)word, 1, 0), "cuStreamWriteValue32");
    while (!*word)
      ;
    if (i >= 0)
      samples[i] = now() - start;
  }
  check(synchronize_stream(stream), "cuStreamSynchronize");
  report_samples("empty-region-end-word", samples, REGIONS);
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
      samples[i - 2] = stamp - last;
    last = stamp;
    __atomic_store_n(&words[16], i, __ATOMIC_RELEASE);
  }
  check(synchronize_stream(stream), "cuStreamSynchronize");
  cpu = (cpu_now() - cpu) / REQUESTS;
  report_samples("request-nothing-mapped", samples, REQUESTS);
  report("request-nothing-mapped-cpu", cpu, "us");
}

static void idle_floor(void *idle, void *stream, void *event) {
  uint64_t time = 200000000;
  void *arguments[] = {&time};
  double best = 1e12;
  for (int round = 0; round < 5; round++) {
    double cpu = cpu_now();
    run(idle, stream, arguments);
    check(record_event(event, stream), "cuEventRecord");
    check(synchronize_event(event), "cuEventSynchronize");
    cpu = cpu_now() - cpu;
    if (cpu < best)
      best = cpu;
  }
  report("idle-cpu-200ms", best * 1e-3, "ms");
}

int main(void) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (!driver) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    void *found = dlsym(driver, table[i].name);
    if (!found) {
      fprintf(stderr, "the driver lacks %s\n", table[i].name);
      return 1;
    }
    *(void **)table[i].function = found;
  }
  void *context, *module, *empty, *ping, *idle, *stream, *event, *words;
  check(init(0), "cuInit");
  check(retain(&context, 0), "cuDevicePrimaryCtxRetain");
  check(set_current(context), "cuCtxSetCurrent");
  check(load(&module, ptx), "cuModuleLoadData");
  check(get_function(&empty, module, "empty"), "cuModuleGetFunction");
  check(get_function(&ping, module, "ping"), "cuModuleGetFunction");
  check(get_function(&idle, module, "idle"), "cuModuleGetFunction");
  check(create_stream(&stream, NON_BLOCKING), "cuStreamCreate");
  check(create_event(&event, BLOCKING_EVENT), "cuEventCreate");
  check(allocate_host(&words, 4096, HOST_MAPPED), "cuMemHostAlloc");

  region_floor(empty, stream, words);
  request_floor(ping, stream, words);
  idle_floor(idle, stream, event);
  return 0;
}
