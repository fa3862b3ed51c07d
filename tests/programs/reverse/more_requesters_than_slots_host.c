/* The host's part of more_requesters_than_slots.c. */
enum { ALL = 300 * 8 };

static _Atomic int count[ALL];

void serve(int requester, int *reply) {
  count[requester]++;
  *reply += requester + 7;
}

int served(int requester) { return count[requester]; }
