// boomerang: checks: of many devices only those that regions run on get a context, and the others cost next to no call of the driver
// boomerang: plugins: ours
// boomerang: on: sim
// boomerang: flags: -ldl
#include <dlfcn.h>
#include <omp.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../check.h"

static void *driver_function(const char *name) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  void *function = driver ? dlsym(driver, name) : 0;
  CHECK(function, "%s", dlerror());
  return function;
}

/* The devices that have a context, as bits. */
static unsigned started(void) {
  int (*state)(int, unsigned *, int *) = (int (*)(int, unsigned *, int *))driver_function("cuDevicePrimaryCtxGetState");
  unsigned bits = 0, flags;
  for (int device = 0, active; device < omp_get_num_devices(); device++) {
    CHECK(state(device, &flags, &active) == 0, "device %d", device);
    bits |= (unsigned)active << device;
  }
  return bits;
}

static long calls(void) {
  int (*counts)(uint64_t *, uint64_t *) = (int (*)(uint64_t *, uint64_t *))driver_function("boomerangSimCounts");
  uint64_t calls, instructions;
  CHECK(counts(&calls, &instructions) == 0, "no counts");
  return (long)calls;
}

static void region(int device) {
  int x = device;
#pragma omp target map(tofrom : x) device(device)
  x++;
  CHECK(x == device + 1, "%d", x);
}

/* How many calls it takes a process until its first region has ended, with so many devices. */
static long calls_of_first_region(const char *devices, unsigned expected) {
  int ends[2], status = 1;
  long result = 0;
  CHECK(pipe(ends) == 0, "no pipe");
  pid_t child = fork();
  if (child == 0) {
    setenv("BOOMERANG_SIM_DEVICES", devices, 1);
    region(0);
    result = calls();
    CHECK(started() == expected, "devices %x have a context", started());
    exit(write(ends[1], &result, sizeof result) != sizeof result);
  }
  CHECK(read(ends[0], &result, sizeof result) == sizeof result, "no answer");
  CHECK(waitpid(child, &status, 0) == child && status == 0, "status %x", status);
  return result;
}

int main(void) {
  long one = calls_of_first_region("1", 1), eight = calls_of_first_region("8", 1);
  CHECK(eight - one <= 7 * 3, "%ld calls with one device, %ld with eight", one, eight);

  setenv("BOOMERANG_SIM_DEVICES", "8", 1);
  CHECK(omp_get_num_devices() == 8, "%d devices", omp_get_num_devices());
  /* The one by default must be known to work before libgomp hears of any. */
  CHECK(started() == 1, "devices %x have a context before any region", started());
  region(5);
  CHECK((started() | 1) == 0x21, "devices %x have a context, regions ran on 5", started());
  long before = calls();
  region(5);
  CHECK(calls() - before < one / 2, "the second region starts the device again: %ld calls", calls() - before);
  region(2);
  CHECK((started() | 1) == 0x25, "devices %x have a context, regions ran on 2 and 5", started());
  return 0;
}
