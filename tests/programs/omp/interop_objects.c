// boomerang: checks: interop objects name CUDA, the vendor, device, context and a stream that the driver accepts
// boomerang: gcc: 15
// boomerang: flags: -ldl
#include <dlfcn.h>
#include <omp.h>
#include <string.h>

#include "../check.h"

static void check_object(omp_interop_t object, const char *runtime, int has_stream) {
  omp_interop_rc_t rc = omp_irc_other;
  CHECK(object != omp_interop_none, "no object for %s", runtime);
  const char *name = omp_get_interop_str(object, omp_ipr_fr_name, &rc);
  CHECK(rc == omp_irc_success && !strcmp(name, runtime), "runtime is %s, asked for %s", name, runtime);
  const char *vendor = omp_get_interop_str(object, omp_ipr_vendor_name, &rc);
  CHECK(rc == omp_irc_success && !strcmp(vendor, "nvidia"), "vendor is %s", vendor);
  CHECK(omp_get_interop_int(object, omp_ipr_vendor, &rc) == 11, "vendor number");
  CHECK(omp_get_interop_int(object, omp_ipr_device_num, &rc) == omp_get_default_device(), "device number");
  omp_get_interop_ptr(object, omp_ipr_device, &rc);
  CHECK(rc == omp_irc_type_int || rc == omp_irc_success, "the device property: %s", omp_get_interop_rc_desc(object, rc));

  void *stream = omp_get_interop_ptr(object, omp_ipr_targetsync, &rc);
  if (!has_stream) {
    CHECK(rc == omp_irc_no_value, "a stream although none was asked for");
    return;
  }
  CHECK(rc == omp_irc_success && stream, "no stream: %s", omp_get_interop_rc_desc(object, rc));
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  CHECK(driver, "%s", dlerror());
  int (*synchronize)(void *) = (int (*)(void *))dlsym(driver, "cuStreamSynchronize");
  int (*set_current)(void *) = (int (*)(void *))dlsym(driver, "cuCtxSetCurrent");
  int (*get_context)(void *, void **) = (int (*)(void *, void **))dlsym(driver, "cuStreamGetCtx");
  CHECK(synchronize && set_current && get_context, "the driver lacks a function");
  void *context = omp_get_interop_ptr(object, omp_ipr_device_context, &rc), *of_stream = 0;
  CHECK(rc == omp_irc_success && context, "no context: %s", omp_get_interop_rc_desc(object, rc));
  CHECK(set_current(context) == 0, "the object's context can't be made current");
  int error = synchronize(stream);
  CHECK(error == 0, "cuStreamSynchronize of the object's stream: %d", error);
  CHECK(get_context(stream, &of_stream) == 0 && of_stream == context, "the stream is of another context");
}

int main(void) {
  omp_interop_t object = omp_interop_none;
  int x = 0;
#pragma omp target map(tofrom : x)
  x = 1;
  CHECK(x == 1, "a region before");
#pragma omp interop init(targetsync, prefer_type("cuda_driver") : object)
  check_object(object, "cuda_driver", 1);
#pragma omp interop use(object)
#pragma omp interop destroy(object)
  CHECK(object == omp_interop_none, "the object was not destroyed");
#pragma omp interop init(target, prefer_type("cuda") : object)
  check_object(object, "cuda", 0);
#pragma omp interop destroy(object)
#pragma omp target map(tofrom : x)
  x++;
  CHECK(x == 2, "a region after");
  return 0;
}
