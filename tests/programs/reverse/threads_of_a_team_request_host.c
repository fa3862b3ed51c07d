/* The host's part of threads_of_a_team_request.c. */
enum { THREADS = 8 };

static _Atomic int count[THREADS];

void square(int thread, int request, int *reply) {
  count[thread]++;
  *reply = (thread + request) * (thread + request);
}

int calls(int thread) { return count[thread]; }
