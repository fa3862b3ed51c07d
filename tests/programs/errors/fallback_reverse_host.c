/* The host's part of fallback_reverse.c. */
void add_one(int *x) { ++*x; }
