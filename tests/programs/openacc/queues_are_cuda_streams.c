// boomerang: checks: a queue is a CUDA stream, and the program can give it one of its own
// boomerang: flags: -fno-openmp -fopenacc -ldl
// boomerang: env: ACC_DEVICE_TYPE=nvidia
#include <dlfcn.h>
#include <openacc.h>

#include "../check.h"

enum { N = 1000 };

static void *driver;

static void *find(const char *name) {
  void *function = dlsym(driver, name);
  CHECK(function, "the driver has no %s", name);
  return function;
}

int main(void) {
  acc_init(acc_device_nvidia);
  driver = dlopen("libcuda.so.1", RTLD_NOW);
  CHECK(driver, "%s", dlerror());
  int (*create)(void **, unsigned) = (int (*)(void **, unsigned))find("cuStreamCreate");
  int (*query)(void *) = (int (*)(void *))find("cuStreamQuery");
  int (*current)(void **) = (int (*)(void **))find("cuCtxGetCurrent");

  /* The runtime leaves the device's context current, for just such calls. */
  void *context = 0;
  CHECK(current(&context) == 0 && context, "no context is current");
  CHECK(acc_get_current_cuda_context() == context, "another context than OpenACC's is current");
  CHECK(acc_get_current_cuda_device(), "no CUDA device");

  int a[N];
#pragma acc data copyout(a)
  {
#pragma acc parallel loop async(1)
    for (int i = 0; i < N; i++)
      a[i] = i;
    void *stream = acc_get_cuda_stream(1), *mine = 0;
    CHECK(stream, "queue 1 has no stream");
    CHECK(!acc_get_cuda_stream(7), "a queue that was never used has a stream");
    acc_wait(1);
    CHECK(query(stream) == 0, "the stream is busy after a wait");
    CHECK(create(&mine, 0) == 0, "cuStreamCreate");
    CHECK(acc_set_cuda_stream(1, mine) == 1, "the stream was refused");
    CHECK(acc_get_cuda_stream(1) == mine, "queue 1 does not use the stream that it was given");
#pragma acc parallel loop async(1)
    for (int i = 0; i < N; i++)
      a[i] *= 2;
    acc_wait(1);
    CHECK(query(mine) == 0, "the program's stream is busy after a wait");
    CHECK(acc_set_cuda_stream(acc_async_sync, mine) == 0, "synchronous work was given a stream");
  }
  for (int i = 0; i < N; i++)
    CHECK(a[i] == 2 * i, "a[%d] is %d", i, a[i]);
  return 0;
}
