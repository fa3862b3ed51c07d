// boomerang: checks: images with bad versions, null pointers or absurd counts are refused with a message, and good ones still load
#include "plugin.h"

#include "image.h"

IMAGE(good, PTX_50 PTX_NOTHING, "nothing");

static void refuse(const char *what, unsigned version, const struct boomerang_image *image) {
  struct addr_pair *table = 0;
  int entries = PLUGIN(GOMP_OFFLOAD_load_image)(0, version, image, &table, 0, 0);
  CHECK(entries == -1, "%s: %d entries", what, entries);
  CHECK(errors >= 1, "%s: refused without a message", what);
  CHECK(strstr(last_error, "image"), "%s: the message doesn't speak of the image: %s", what, last_error);
  errors = 0;
}

int main(void) {
  start_plugin(0);
  struct boomerang_image bad;
  struct boomerang_ptx_object object = *good.ptx_objects;
  struct boomerang_function kernel = *good.functions;
  const char *no_name = 0;

  refuse("device version 2", 3u << 16 | 2u, &good);
  refuse("no image", IMAGE_VERSION, 0);
#define REFUSE(change) (bad = good, change, refuse(#change, IMAGE_VERSION, &bad))
  REFUSE(bad.ptx_objects = 0);
  REFUSE(bad.ptx_object_count = 0);
  REFUSE(bad.ptx_object_count = 0xffffffffu);
  REFUSE(bad.functions = 0);
  REFUSE(bad.function_count = 0xffffffffu);
  REFUSE((bad.variable_names = 0, bad.variable_count = 3));
  REFUSE((bad.variable_names = &no_name, bad.variable_count = 1));
  REFUSE((bad.variable_names = &no_name, bad.variable_count = 0xfffffff0u));
  REFUSE(bad.indirect_count = 0xffffffffu);
  object.code = 0;
  REFUSE(bad.ptx_objects = &object);
  object = (struct boomerang_ptx_object){"", 1};
  REFUSE(bad.ptx_objects = &object);
  object = (struct boomerang_ptx_object){good.ptx_objects->code, (size_t)-1};
  REFUSE(bad.ptx_objects = &object);
  kernel.name = 0;
  REFUSE(bad.functions = &kernel);
  kernel.name = "";
  REFUSE(bad.functions = &kernel);

  struct addr_pair *table = 0;
  int entries = PLUGIN(GOMP_OFFLOAD_load_image)(0, IMAGE_VERSION, &good, &table, 0, 0);
  CHECK(entries == 2, "a good image after the bad ones: %d entries: %s", entries, last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_unload_image)(0, IMAGE_VERSION, &good), "unload: %s", last_error);
  return 0;
}
