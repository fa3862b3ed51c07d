/* The host's part of idle_cpu.c. */
#include <stdlib.h>

void never_called(void) { abort(); }
