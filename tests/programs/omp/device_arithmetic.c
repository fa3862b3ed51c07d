// boomerang: checks: integers and floating-point numbers of every width compute on the device as on the host
// boomerang: sources: device_arithmetic_both.c
// boomerang: device-flags: -lm
// boomerang: flags: -lm -ffp-contract=off
#include "device_arithmetic.h"

#include "../check.h"

int main(void) {
  struct results host = {{0}, {0}}, device = host;
  compute(&host, 3);
#pragma omp target map(tofrom : device)
  compute(&device, 3);
  for (int i = 0; i < INTEGERS; i++)
    CHECK(host.integers[i] == device.integers[i], "integer %d: host %llx, device %llx", i,
          (unsigned long long)host.integers[i], (unsigned long long)device.integers[i]);
  for (int i = 0; i < REALS; i++) {
    double difference = host.reals[i] - device.reals[i], size = host.reals[i];
    if (difference < 0)
      difference = -difference;
    if (size < 0)
      size = -size;
    CHECK(difference <= 1e-14 * size, "real %d: host %.17g, device %.17g", i, host.reals[i], device.reals[i]);
  }
  return 0;
}
