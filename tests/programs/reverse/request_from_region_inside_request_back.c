/* Keeps the compiler from putting descend() into the device's code. */
void descend(int levels, int *sum);

void descend_from_device(int levels, int *sum) { descend(levels, sum); }
