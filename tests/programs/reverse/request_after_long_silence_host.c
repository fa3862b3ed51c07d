/* The host's part of request_after_long_silence.c. */
void add(int *x) { ++*x; }
