// boomerang: checks: a region has the gangs, workers and vector lanes that its clauses ask for
// boomerang: flags: -fno-openmp -fopenacc
// boomerang: env: ACC_DEVICE_TYPE=nvidia
// boomerang: env: GOMP_DEBUG=1
// boomerang: stderr: nvptx_exec: kernel main\$_omp_fn\$0: launch gangs=3, workers=4, vectors=32$
// boomerang: stderr: nvptx_exec: kernel main\$_omp_fn\$1: launch gangs=1, workers=1, vectors=32$
// boomerang: stderr: nvptx_exec: kernel main\$_omp_fn\$2: launch gangs=5, workers=2, vectors=128$
#include <openacc.h>

#include "../check.h"

int main(void) {
  int gangs = 0, workers = 0, lanes = 0;
#pragma acc parallel num_gangs(3) num_workers(4) vector_length(32) copy(gangs, workers, lanes)
  {
#pragma acc atomic
    gangs++;
#pragma acc loop gang worker reduction(+ : workers)
    for (int i = 0; i < 24; i++)
      workers++;
#pragma acc loop gang worker vector reduction(+ : lanes)
    for (int i = 0; i < 777; i++)
      lanes++;
  }
  CHECK(gangs == 3 && workers == 24 && lanes == 777, "%d gangs, %d and %d iterations", gangs, workers, lanes);
#pragma acc serial copy(gangs)
  gangs++;
  CHECK(gangs == 4, "a serial region ran %d times", gangs - 3);
  int five = atoi("5"), seen = 0;
#pragma acc parallel loop gang worker vector num_gangs(five) num_workers(2) vector_length(128) reduction(+ : seen)
  for (int i = 0; i < 10000; i++)
    seen++;
  CHECK(seen == 10000, "%d iterations", seen);
  return 0;
}
