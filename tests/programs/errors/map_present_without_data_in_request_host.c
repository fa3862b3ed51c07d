/* The host's part of map_present_without_data_in_request.c: to be there, not to be called. */
#include "../check.h"

void never_called(int *x) { CHECK(0, "the block was served with %d", *x); }
