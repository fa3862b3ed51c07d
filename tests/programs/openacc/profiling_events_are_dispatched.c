// boomerang: checks: callbacks of the profiling interface are told of launches and of memory
// boomerang: flags: -fno-openmp -fopenacc
// boomerang: env: ACC_DEVICE_TYPE=nvidia
#include <acc_prof.h>
#include <string.h>

#include "../check.h"

static int launches_begun, launches_ended, allocations, frees;
static size_t gangs, workers, lanes, bytes;
static char kernel[100];

static void on_launch(acc_prof_info *prof, acc_event_info *event, acc_api_info *api) {
  acc_launch_event_info *launch = &event->launch_event;
  CHECK(launch->event_type == prof->event_type, "event %d, then %d", prof->event_type, launch->event_type);
  CHECK(launch->valid_bytes == _ACC_LAUNCH_EVENT_INFO_VALID_BYTES, "%d bytes are valid", launch->valid_bytes);
  CHECK(api->device_api == acc_device_api_cuda, "device API %d", api->device_api);
  if (prof->event_type == acc_ev_enqueue_launch_start) {
    launches_begun++;
    launch->tool_info = kernel;
    snprintf(kernel, sizeof kernel, "%s", launch->kernel_name);
    gangs = launch->num_gangs, workers = launch->num_workers, lanes = launch->vector_length;
  } else {
    launches_ended++;
    CHECK(launch->tool_info == kernel, "what the callback stored for the end of the launch is lost");
    CHECK(!strcmp(launch->kernel_name, kernel), "the launch of %s ended as that of %s", kernel, launch->kernel_name);
  }
}

static void on_memory(acc_prof_info *prof, acc_event_info *event, acc_api_info *api) {
  acc_data_event_info *data = &event->data_event;
  CHECK(data->valid_bytes == _ACC_DATA_EVENT_INFO_VALID_BYTES, "%d bytes are valid", data->valid_bytes);
  CHECK(data->device_ptr && api->device_api == acc_device_api_cuda, "device pointer %p", data->device_ptr);
  if (prof->event_type == acc_ev_alloc) {
    allocations++;
    bytes += data->bytes;
  } else
    frees++;
}

int main(void) {
  int a[1000];
  acc_prof_register(acc_ev_enqueue_launch_start, on_launch, acc_reg);
  acc_prof_register(acc_ev_enqueue_launch_end, on_launch, acc_reg);
  acc_prof_register(acc_ev_alloc, on_memory, acc_reg);
  acc_prof_register(acc_ev_free, on_memory, acc_reg);
#pragma acc parallel loop gang worker vector num_gangs(3) num_workers(2) vector_length(32) copyout(a)
  for (int i = 0; i < 1000; i++)
    a[i] = i;
  CHECK(launches_begun == 1 && launches_ended == 1, "%d launches begun, %d ended", launches_begun, launches_ended);
  CHECK(strstr(kernel, "main") && strstr(kernel, "_omp_fn"), "kernel %s", kernel);
  CHECK(gangs == 3 && workers == 2 && lanes == 32, "launched %zu x %zu x %zu", gangs, workers, lanes);
  CHECK(allocations > 0 && frees == allocations, "%d allocations, %d frees", allocations, frees);
  CHECK(bytes >= sizeof a, "%zu bytes allocated", bytes);
  return 0;
}
