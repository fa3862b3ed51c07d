/* The host's part of no_request_made.c: to be there, not to be called. */
#include "../check.h"

void never_called(int *x) { CHECK(0, "called with %d, though nothing asked for it", *x); }
