/* The host's part of region_latency_reverse.c. */
void serve(int *x) { ++*x; }
