// boomerang: checks: each device has a unique identifier, and is found by it
// boomerang: gcc: 16
#include <omp.h>
#include <string.h>

#include "../check.h"

int main(void) {
  int devices = omp_get_num_devices();
  for (int d = 0; d < devices; d++) {
    const char *uid = omp_get_uid_from_device(d);
    CHECK(uid && !strncmp(uid, "GPU-", 4), "device %d has the identifier %s", d, uid ? uid : "(null)");
    CHECK(omp_get_device_from_uid(uid) == d, "%s is device %d, not %d", uid, omp_get_device_from_uid(uid), d);
    for (int other = 0; other < d; other++)
      CHECK(strcmp(uid, omp_get_uid_from_device(other)), "devices %d and %d share %s", d, other, uid);
  }
  return 0;
}
