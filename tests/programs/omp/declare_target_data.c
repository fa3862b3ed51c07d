// boomerang: checks: declare-target variables start with their initial values on the device, persist there, and update both ways
// boomerang: sources: declare_target_data_unit.c
#include "../check.h"

#pragma omp begin declare target
extern int shared_between_units;
int table[3] = {10, 20, 30};
static double persistent = 0.5;
const char *const text = "device";
int bump_shared(void);
#pragma omp end declare target

int main(void) {
  int sum = 0, letters = 0;
  double kept = 0;
#pragma omp target map(from : sum, letters)
  {
    sum = table[0] + table[1] + table[2] + shared_between_units;
    table[1] = 21;
    persistent *= 3;
    for (letters = 0; text[letters]; letters++)
      ;
  }
  CHECK(sum == 10 + 20 + 30 + 7, "initial values add up to %d", sum);
  CHECK(letters == 6, "the string has %d letters", letters);
  CHECK(table[1] == 20, "the host's table changed without an update");
#pragma omp target update from(table)
  CHECK(table[1] == 21, "after the update table[1] is %d", table[1]);
  table[2] = 33;
#pragma omp target update to(table)
#pragma omp target map(from : sum, kept)
  {
    sum = table[1] + table[2] + bump_shared();
    kept = persistent;
  }
  CHECK(sum == 21 + 33 + 8, "the second region saw %d", sum);
  CHECK(kept == 1.5, "a static variable was %g", kept);
  return 0;
}
