// boomerang: measures: the time of an empty region, and of one that maps an int, in a program that uses reverse offload
// boomerang: sources: region_latency_reverse_host.c
// boomerang: variants: BOOMERANG_WAIT=spin | BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll
#define REVERSE
#include "region_latency.c"
