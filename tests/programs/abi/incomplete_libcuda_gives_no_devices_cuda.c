/* The libcuda of incomplete_libcuda_gives_no_devices.c: it starts, says that there is a device, and has nothing else. */
int cuInit(unsigned flags);
int cuInit(unsigned flags) {
  (void)flags;
  return 0;
}

int cuDeviceGetCount(int *count);
int cuDeviceGetCount(int *count) {
  *count = 1;
  return 0;
}
