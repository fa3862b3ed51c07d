/* The host's part of requests_from_a_loaded_library.c, also called by its library. */
void add_to_host(int *x, int y) { *x += y; }
