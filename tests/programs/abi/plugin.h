/* What libgomp is to the plugin, for programs that do without libgomp: the loader, and a host table that keeps messages. */
#ifndef PLUGIN_H
#define PLUGIN_H

#include <dlfcn.h>
#include <gomp_plugin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../check.h"

/* The last message of the plugin, and how many there were. */
static char last_error[4000];
static int errors;

static void host_error(const char *message) {
  snprintf(last_error, sizeof last_error, "%s", message);
  errors++;
}

/* Programs that expect a fatal error name this exit status. */
static void host_fatal(const char *message) {
  fprintf(stderr, "fatal: %s\n", message);
  exit(3);
}

static void host_debug(const char *message) { fputs(message, stderr); }

/* The loaded plugin. */
static void *plugin;

static inline void *plugin_symbol(const char *name) {
  if (!plugin)
    plugin = dlopen("libgomp-plugin-nvptx.so.1", RTLD_NOW);
  CHECK(plugin, "%s", dlerror());
  void *symbol = dlsym(plugin, name);
  CHECK(symbol, "%s", dlerror());
  return symbol;
}

/* A function of the plugin: PLUGIN(GOMP_OFFLOAD_alloc)(0, 100). */
#define PLUGIN(name) ((__typeof__(&name))plugin_symbol(#name))

/* Registers the host table, with what serves requests if anything does, and starts device 0. */
static inline void start_plugin(__typeof__(((struct boomerang_host_table *)0)->target_rev) target_rev) {
  static struct boomerang_host_table table = {
      .size = sizeof table, .malloc = malloc, .debug = host_debug, .error = host_error, .fatal = host_fatal};
  table.target_rev = target_rev;
  CHECK(PLUGIN(boomerang_set_host_table)(&table), "the host table was refused");
  int devices = PLUGIN(GOMP_OFFLOAD_get_num_devices)(0);
  CHECK(devices >= 1, "%d devices: %s", devices, last_error);
  CHECK(PLUGIN(GOMP_OFFLOAD_init_device)(0), "device 0 did not start: %s", last_error);
}

/* Expects that a call just failed with a message that holds `text`, and forgets the message. */
#define CHECK_ERROR(call_failed, text)                                                                \
  do {                                                                                                \
    CHECK(call_failed, "it succeeded");                                                               \
    CHECK(errors > 0, "it failed without a message");                                                 \
    CHECK(strstr(last_error, text), "the message doesn't hold \"%s\": %s", text, last_error);         \
    errors = 0;                                                                                       \
    last_error[0] = 0;                                                                                \
  } while (0)

#endif
