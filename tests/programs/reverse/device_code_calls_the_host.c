// boomerang: checks: a target region calls the host through boomerang.h: a team's thread, threads in parallel and lanes of a simd loop, each once, beside its reverse-offload requests
// boomerang: sources: device_code_calls_the_host_host.c
// boomerang: flags: -Idevice
// boomerang: device-flags: -Ldevice -lboomerang-device
// boomerang: plugins: ours
// boomerang: variants: BOOMERANG_WAIT=block | BOOMERANG_WAIT=poll | BOOMERANG_DEVICE_RUNTIME=stock | BOOMERANG_PTX_OPT=0
#include <boomerang.h>
#include <omp.h>

#include "../check.h"
#include "device_code_calls_the_host.h"

#pragma omp requires reverse_offload

enum { TEAMS = 5, THREADS = 4, LANES = 50 };

/* A function of its own: lanes share the variables of a loop's body whose addresses are taken. */
#pragma omp begin declare target
static __attribute__((noinline)) int square(int x) {
  struct message m = {x, 0};
  boomerang_call(SQUARE, &m, sizeof m);
  return m.answer;
}
#pragma omp end declare target

int main(void) {
  register_handler();
  int tripled[TEAMS], wrong = 0, capacity = 0, squares[LANES], mapped = 0;
#pragma omp target teams num_teams(TEAMS) thread_limit(THREADS) map(from : tripled) map(tofrom : wrong, capacity)
  {
    struct message m = {omp_get_team_num(), 0};
    int called = boomerang_call(TRIPLE, &m, sizeof m);
    tripled[m.value] = called == 1 ? m.answer : -1;
    if (m.value == 0)
      capacity = boomerang_capacity();
#pragma omp parallel num_threads(THREADS) reduction(+ : wrong)
    for (int i = 0; i < 3; i++) {
      int id = omp_get_team_num() * 100 + omp_get_thread_num();
      wrong += boomerang_post(COUNT, &id, sizeof id) != 1;
      id = -1;
    }
  }
  CHECK(wrong == 0, "%d posts were refused", wrong);
  CHECK(capacity >= 16, "the capacity is %d", capacity);
  for (int i = 0; i < TEAMS; i++) {
    CHECK(tripled[i] == 3 * i, "team %d got %d", i, tripled[i]);
    for (int j = 0; j < THREADS; j++)
      CHECK(counts[i * 100 + j] == 3, "%d posts of thread %d in team %d handled", counts[i * 100 + j], j, i);
  }
  CHECK(calls == TEAMS && posts == TEAMS * THREADS * 3, "%d calls, %d posts handled", calls, posts);

#pragma omp target map(from : squares, mapped)
  {
#pragma omp simd
    for (int i = 0; i < LANES; i++)
      squares[i] = square(i);
    int x = 1;
#pragma omp target device(ancestor : 1) map(always, tofrom : x)
    add_calls(&x);
    mapped = x;
  }
  for (int i = 0; i < LANES; i++)
    CHECK(squares[i] == i * i, "lane %d got %d", i, squares[i]);
  CHECK(mapped == 1 + TEAMS + LANES, "the request found %d calls handled", mapped - 1);

  int here = boomerang_call(TRIPLE, &here, sizeof here);
  CHECK(here == 0 && calls == TEAMS + LANES, "the host's own call returned %d, %d calls handled", here, calls);
  return 0;
}
