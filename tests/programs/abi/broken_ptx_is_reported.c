// boomerang: checks: PTX that doesn't parse or link, or lacks a variable, is refused with a message that has the image and the JIT's own log; a kernel that it lacks is named
#include "plugin.h"

#include "image.h"

IMAGE(not_ptx, "this is not PTX\n", "nothing");
IMAGE(bad_instruction, PTX_50 ".visible .entry nothing()\n{\n  frobnicate.u32 %r1, %r2;\n}\n", "nothing");
IMAGE(undefined, PTX_50 ".extern .func nowhere_to_be_found ();\n" PTX_KERNEL("nothing") "{ call nowhere_to_be_found; ret; }\n",
      "nothing");
IMAGE(no_kernel, PTX_50 PTX_NOTHING, "another_kernel");
IMAGE(good, PTX_50 PTX_NOTHING, "nothing");

static void refuse(const char *what, const struct boomerang_image *image, const char *text) {
  /* The host can run the region of a kernel that isn't there; the rest of the image is used. */
  struct addr_pair *table = 0;
  CHECK(PLUGIN(GOMP_OFFLOAD_load_image)(0, IMAGE_VERSION, &no_kernel, &table, 0, 0) == 2, "%s", last_error);
  CHECK(errors == 1 && strstr(last_error, "image") && strstr(last_error, "another_kernel"),
        "a kernel that isn't there: %d messages, the last: %s", errors, last_error);
  CHECK(!PLUGIN(GOMP_OFFLOAD_can_run)((void *)table[0].start), "a kernel that isn't there can run");

  int entries = PLUGIN(GOMP_OFFLOAD_load_image)(0, IMAGE_VERSION, image, &table, 0, 0);
  CHECK(entries == -1, "%s: %d entries", what, entries);
  CHECK(errors >= 1, "%s: refused without a message", what);
  CHECK(strstr(last_error, "image"), "%s: the message doesn't speak of the image: %s", what, last_error);
  CHECK(strstr(last_error, text), "%s: the message doesn't hold \"%s\": %s", what, text, last_error);
  errors = 0;
}

int main(void) {
  start_plugin(0);
  /* What the JIT calls it is the driver's own; of faults in PTX it says where they are. */
  refuse("no PTX at all", &not_ptx, "the JIT says: ");
  refuse("an unknown instruction", &bad_instruction, "frobnicate");
  refuse("an undefined function", &undefined, "nowhere_to_be_found");

  struct boomerang_ptx_object twice[2] = {*good.ptx_objects, *good.ptx_objects};
  struct boomerang_image doubled = good;
  doubled.ptx_objects = twice;
  doubled.ptx_object_count = 2;
  refuse("a kernel that is there twice", &doubled, "nothing");

  static const char *const names[] = {"missing_variable"};
  struct boomerang_image no_variable = good;
  no_variable.variable_names = names;
  no_variable.variable_count = 1;
  refuse("a variable that isn't there", &no_variable, "missing_variable");

  struct addr_pair *table = 0;
  int entries = PLUGIN(GOMP_OFFLOAD_load_image)(0, IMAGE_VERSION, &good, &table, 0, 0);
  CHECK(entries == 2, "a good image after the broken ones: %d entries: %s", entries, last_error);
  return 0;
}
