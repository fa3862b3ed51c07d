/* The host's part of rev_throughput.c, rev_throughput_threads.c and rev_throughput_warps.c. */
static _Atomic long count;

void count_one(void) { count++; }

long counted(void) { return count; }
