/* The plugin's C interface: what libgomp 14 to 16 call in a plugin, and what a program that drives the plugin without libgomp
   provides in libgomp's place.

   Device addresses are passed as pointers that the host must not follow. A device is known by its ordinal, from 0; where a
   function takes two, -1 is the host. bool functions return false when they fail; the reason goes to the host's `error`. */
#ifndef GOMP_PLUGIN_H
#define GOMP_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where something is on the device: from `start` up to, not including, `end`. */
struct addr_pair {
  uintptr_t start;
  uintptr_t end;
};

/* ---- The program's side ---- */

/* A queue of OpenACC's, or the one that a reverse-offload request makes its copies through. */
struct goacc_asyncqueue;

/* What the plugin calls in a program that loads it without libgomp. Where a function is null a built-in one stands in: malloc,
   standard error, abort; without `target_rev` a request ends the program. */
struct boomerang_host_table {
  /* sizeof (struct boomerang_host_table) */
  size_t size;
  /* Allocates what the caller of the plugin frees with free(). */
  void *(*malloc)(size_t bytes);
  /* Takes a line, with its newline, when GOMP_DEBUG is set. */
  void (*debug)(const char *line);
  /* Takes an error message, without a newline. */
  void (*error)(const char *message);
  /* Takes an error message, without a newline, and ends the program; the plugin aborts if it returns. */
  void (*fatal)(const char *message);
  /* Serves a reverse-offload request: runs the host's twin of the device function `fn`, with `mapnum` items whose addresses,
     sizes and 16-bit map kinds are in arrays at these device addresses. Unless `aq` is null, copy with
     GOMP_OFFLOAD_openacc_async_dev2host and _host2dev, and _synchronize after each; else with GOMP_OFFLOAD_dev2host and
     _host2dev. Called on the thread that runs the region, on one of the plugin's for a region of GOMP_OFFLOAD_async_run, or on a
     helper thread if GOMP_REVERSE_OFFLOAD_THREADS asks for some. */
  void (*target_rev)(uint64_t fn, uint64_t mapnum, uint64_t addrs, uint64_t sizes, uint64_t kinds, int dev_num,
                     struct goacc_asyncqueue *aq);
  /* Is told that a region of GOMP_OFFLOAD_async_run has ended, perhaps before that function has returned. Called on a thread of the
     plugin's. */
  void (*task_completion)(void *task);
};

/* Registers the table. To be called before any other function of the plugin; false when there is one already, or the size is
   not the plugin's. */
bool boomerang_set_host_table(const struct boomerang_host_table *table);

/* Has `handler` handle what kernels ask for through device-runtime/boomerang.h, on all devices, or nobody if it is
   null; a call then ends the program. It is called on the thread that runs the region, or on a helper thread as
   above; the kernel gets back what it leaves in `data`, `bytes` long, unless it doesn't wait. It may use the device
   as a reverse-offload block may. */
void boomerang_set_call_handler(void (*handler)(uint32_t opcode, void *data, uint32_t bytes, void *context), void *context);

/* ---- Devices ---- */

/* The interface's version: 3. */
unsigned GOMP_OFFLOAD_version(void);
/* "nvptx" */
const char *GOMP_OFFLOAD_get_name(void);
/* Capabilities: 4, OpenMP, and 8, OpenACC. */
unsigned GOMP_OFFLOAD_get_caps(void);
/* The kind of images: 5, PTX. */
int GOMP_OFFLOAD_get_type(void);
/* The number of devices, for a program whose `requires` directives make up the mask; -1 when there are some that cannot do
   what is required. 0x10 unified address, 0x20 unified shared memory, 0x80 reverse offload, 0x400 self maps. */
int GOMP_OFFLOAD_get_num_devices(unsigned requires_mask);
/* The device's unique name, to be freed, or null. */
const char *GOMP_OFFLOAD_get_uid(int device);
bool GOMP_OFFLOAD_init_device(int device);
bool GOMP_OFFLOAD_fini_device(int device);

/* ---- Images ---- */

/* What mkoffload puts into a program. libgomp passes on what follows the first word, the mask of `requires` directives. */
struct boomerang_ptx_object {
  const char *code;
  /* With the NUL at the end. */
  size_t size;
};
struct boomerang_function {
  const char *name;
  /* Gangs, workers and vector length that an OpenACC kernel was compiled for; 0 where they are open. */
  unsigned short dims[3];
};
struct boomerang_image {
  const struct boomerang_ptx_object *ptx_objects;
  unsigned ptx_object_count;
  const char *const *variable_names;
  unsigned variable_count;
  const struct boomerang_function *functions;
  unsigned function_count;
  /* Entries of the device's table $offload_ind_func_table; since image version 0x30001. */
  unsigned indirect_count;
};

/* Loads an image of the given version (libgomp's in the upper, PTX's in the lower 16 bits). Returns the number of entries that
   `*table` got: one for each function and each variable, and one for the ICVs (0 and 0 where the image has none); or -1.
   `reverse_table` is null unless reverse offload is required; `*reverse_table` gets the functions' device addresses, or null
   where the image makes no requests. Both tables are to be freed. `host_indirect` holds the host's addresses of the indirect
   functions, or is null. */
int GOMP_OFFLOAD_load_image(int device, unsigned version, const void *image, struct addr_pair **table, uint64_t **reverse_table,
                            uint64_t *host_indirect);
bool GOMP_OFFLOAD_unload_image(int device, unsigned version, const void *image);

/* ---- Memory ---- */

void *GOMP_OFFLOAD_alloc(int device, size_t bytes);
bool GOMP_OFFLOAD_free(int device, void *block);
void *GOMP_OFFLOAD_managed_alloc(int device, size_t bytes);
bool GOMP_OFFLOAD_managed_free(int device, void *block);
/* 1 if kernels can use this host memory by its address, else 0. */
int GOMP_OFFLOAD_is_accessible_ptr(int device, const void *start, size_t bytes);
/* `*block` gets null where there is no memory left. */
bool GOMP_OFFLOAD_page_locked_host_alloc(void **block, size_t bytes);
bool GOMP_OFFLOAD_page_locked_host_free(void *block);
bool GOMP_OFFLOAD_dev2host(int device, void *to, const void *from, size_t bytes);
bool GOMP_OFFLOAD_host2dev(int device, void *to, const void *from, size_t bytes);
bool GOMP_OFFLOAD_dev2dev(int device, void *to, const void *from, size_t bytes);
bool GOMP_OFFLOAD_memset(int device, void *block, int value, size_t bytes);
/* Copies rows of two-dimensional arrays: 1, or 0 on failure. Offsets are those of the first byte copied. */
int GOMP_OFFLOAD_memcpy2d(int to_device, int from_device, size_t row_bytes, size_t rows, void *to, size_t to_offset_bytes,
                          size_t to_offset_rows, size_t to_row_bytes, const void *from, size_t from_offset_bytes,
                          size_t from_offset_rows, size_t from_row_bytes);
/* The same in three dimensions. */
int GOMP_OFFLOAD_memcpy3d(int to_device, int from_device, size_t row_bytes, size_t rows, size_t planes, void *to,
                          size_t to_offset_bytes, size_t to_offset_rows, size_t to_offset_planes, size_t to_row_bytes,
                          size_t to_plane_rows, const void *from, size_t from_offset_bytes, size_t from_offset_rows,
                          size_t from_offset_planes, size_t from_row_bytes, size_t from_plane_rows);

/* ---- Regions ---- */

/* Whether the function, the start of an entry of the image's table, can run on its device. */
bool GOMP_OFFLOAD_can_run(void *function);
/* Runs a function of the image's table and returns when it has ended. `variables` is passed to it. `args` are launch arguments,
   ended by a null word: (value << 16 | 1 << 8) for teams, (value << 16 | 2 << 8) for threads of a team. Ends the program,
   through the host's `fatal`, when the kernel fails. */
void GOMP_OFFLOAD_run(int device, void *function, void *variables, void **args);
/* The same, but returns at once; `args` are not needed after that. The host's `task_completion` gets `task` when the function has
   ended. Threads of the plugin serve its requests, each region's one after another. */
void GOMP_OFFLOAD_async_run(int device, void *function, void *variables, void **args, void *task);

/* ---- OpenACC ---- */

/* Runs a function of the image's table, which takes `variables` alone, and returns when it has ended. `dims` are gangs, workers
   and vector length, 0 for the plugin's choice. `count`, `host_addresses` and `mapping` are not used. Ends the program, through
   the host's `fatal`, when the kernel fails. */
void GOMP_OFFLOAD_openacc_exec(void *function, size_t count, void **host_addresses, void **variables, unsigned *dims,
                               void *mapping);
/* Enqueues it, behind everything enqueued before. */
void GOMP_OFFLOAD_openacc_async_exec(void *function, size_t count, void **host_addresses, void **variables, unsigned *dims,
                                     void *mapping, struct goacc_asyncqueue *queue);
/* Prepares a thread: makes the device's CUDA context current where none is. Null on failure. */
void *GOMP_OFFLOAD_openacc_create_thread_data(int device);
void GOMP_OFFLOAD_openacc_destroy_thread_data(void *data);
/* A new queue, or null. */
struct goacc_asyncqueue *GOMP_OFFLOAD_openacc_async_construct(int device);
bool GOMP_OFFLOAD_openacc_async_destruct(struct goacc_asyncqueue *queue);
/* Whether everything enqueued so far is done: 1, 0, or -1 when some of it failed. */
int GOMP_OFFLOAD_openacc_async_test(struct goacc_asyncqueue *queue);
bool GOMP_OFFLOAD_openacc_async_synchronize(struct goacc_asyncqueue *queue);
/* Has what `later` gets from now on wait for what `earlier` has got. */
bool GOMP_OFFLOAD_openacc_async_serialize(struct goacc_asyncqueue *earlier, struct goacc_asyncqueue *later);
/* Calls the function, on a thread of the driver's, behind everything enqueued so far. In there only GOMP_OFFLOAD_free may be
   called. */
void GOMP_OFFLOAD_openacc_async_queue_callback(struct goacc_asyncqueue *queue, void (*function)(void *), void *argument);
bool GOMP_OFFLOAD_openacc_async_dev2host(int device, void *to, const void *from, size_t bytes, struct goacc_asyncqueue *queue);
bool GOMP_OFFLOAD_openacc_async_host2dev(int device, void *to, const void *from, size_t bytes, struct goacc_asyncqueue *queue);
bool GOMP_OFFLOAD_openacc_async_dev2dev(int device, void *to, const void *from, size_t bytes, struct goacc_asyncqueue *queue);
/* The thread's CUdevice (where it is) and CUcontext; null without libgomp, which knows the thread. */
void *GOMP_OFFLOAD_openacc_cuda_get_current_device(void);
void *GOMP_OFFLOAD_openacc_cuda_get_current_context(void);
/* A queue's CUstream. One that the caller sets stays the caller's. */
void *GOMP_OFFLOAD_openacc_cuda_get_stream(struct goacc_asyncqueue *queue);
int GOMP_OFFLOAD_openacc_cuda_set_stream(struct goacc_asyncqueue *queue, void *stream);
union goacc_property_value {
  const char *ptr;
  size_t val;
};
/* Numbers: 1 bytes of memory, 2 free bytes; texts: 0x10001 name, 0x10002 vendor, 0x10003 driver. */
union goacc_property_value GOMP_OFFLOAD_openacc_get_property(int device, int property);

/* ---- Interoperability objects ---- */

struct interop_obj_t {
  void *stream;
  void *device_data;
  /* omp_interop_fr_t: 1 CUDA, 2 the CUDA driver, 5 HIP. */
  int fr;
  int device_num;
};

/* Makes (action 0), waits for (1) or takes back (2) an object. */
void GOMP_OFFLOAD_interop(struct interop_obj_t *object, int device, int action, bool targetsync, const char *prefer_type);
/* Properties by their omp_interop_property_t; `outcome` gets an omp_interop_rc_t. */
intptr_t GOMP_OFFLOAD_get_interop_int(struct interop_obj_t *object, int property, int *outcome);
void *GOMP_OFFLOAD_get_interop_ptr(struct interop_obj_t *object, int property, int *outcome);
const char *GOMP_OFFLOAD_get_interop_str(struct interop_obj_t *object, int property, int *outcome);
const char *GOMP_OFFLOAD_get_interop_type_desc(struct interop_obj_t *object, int property);

#ifdef __cplusplus
}
#endif

#endif
