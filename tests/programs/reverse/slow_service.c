// boomerang: checks: a served block may take long: other regions of other host threads run and end meanwhile
// boomerang: sources: slow_service_host.c
// boomerang: stock: hangs: a second region in a program with reverse offload waits for the first
// boomerang: variants: BOOMERANG_DEVICE_RUNTIME=stock | GOMP_REVERSE_OFFLOAD_THREADS=2
#include <omp.h>

#include "../check.h"

#pragma omp requires reverse_offload

void wait_for_other_thread(int *ok);
void other_thread_is_done(void);

int main(void) {
  int waited = 0, wrong = 0;
  /* Before there are threads: they inherit a default device only if libgomp has looked for devices already. */
  CHECK(omp_get_num_devices() > 0, "no device");
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0) {
#pragma omp target map(tofrom : waited)
      {
        int ok = 0;
#pragma omp target device(ancestor : 1) map(always, tofrom : ok)
        wait_for_other_thread(&ok);
        waited = ok;
      }
    } else {
      for (int i = 0; i < 20; i++) {
        int x = i;
#pragma omp target map(tofrom : x)
        x *= 2;
        wrong += x != 2 * i;
      }
      other_thread_is_done();
    }
  }
  CHECK(waited, "the other thread's regions did not end while a request was being served");
  CHECK(!wrong, "%d of the other thread's regions gave wrong results", wrong);
  return 0;
}
