// boomerang: checks: a host table that is null, of another size, or the second one is refused
#include "plugin.h"

int main(void) {
  struct boomerang_host_table table = {.size = sizeof table, .malloc = malloc, .error = host_error, .fatal = host_fatal};
  CHECK(!PLUGIN(boomerang_set_host_table)(0), "a null table was taken");
  table.size = 8;
  CHECK(!PLUGIN(boomerang_set_host_table)(&table), "a table of 8 bytes was taken");
  table.size = sizeof table + 8;
  CHECK(!PLUGIN(boomerang_set_host_table)(&table), "a table that is too large was taken");
  table.size = sizeof table;
  CHECK(PLUGIN(boomerang_set_host_table)(&table), "a good table was refused");
  CHECK(!PLUGIN(boomerang_set_host_table)(&table), "a second table was taken");
  return 0;
}
