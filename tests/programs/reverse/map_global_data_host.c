/* The host's part of map_global_data.c. */
void bump(int *x) { ++*x; }
