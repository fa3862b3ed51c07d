/* The host's part of rev_throughput.c and rev_throughput_threads.c. */
static _Atomic long count;

void count_one(void) { count++; }

long counted(void) { return count; }
