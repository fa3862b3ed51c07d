// boomerang: measures: malloc and free of 64 bytes in device code, by one thread and by 132 teams of 8 threads at once, and the chunks of schedule(dynamic)
// boomerang: flags: -ldl
// boomerang: variants: BOOMERANG_PTX_OPT=0 | BOOMERANG_PTX_OPT=prune | BOOMERANG_PTX_OPT=prune,heap | BOOMERANG_PTX_OPT=prune,fences,heap
#include "device_malloc.h"

enum { CHUNKS = 2000 };

static int dynamic(int iterations) {
  int sum = 0;
#pragma omp target parallel for num_threads(THREADS) schedule(dynamic) map(tofrom : sum) reduction(+ : sum)
  for (int i = 0; i < iterations; i++)
    sum += i & 1;
  return sum;
}

int main(void) {
  int none = measure_pairs("malloc-free-one-thread", "malloc-free-132-teams"), sum = 0;
  for (begin(&s, LAPS, 2); more(&s); lap(&s))
    sum = dynamic(CHUNKS);
  report_series("dynamic-chunk", &s, CHUNKS);
  if (none != 0 || sum != CHUNKS / 2) {
    fprintf(stderr, "%d blocks could not be allocated, the sum is %d\n", none, sum);
    return 1;
  }
  return 0;
}
