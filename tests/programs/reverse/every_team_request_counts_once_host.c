/* The host's part of every_team_request_counts_once.c. */
enum { TEAMS = 64, REQUESTS = 50 };

static _Atomic int count[TEAMS][REQUESTS];

void serve(int team, int request, int *reply) {
  count[team][request]++;
  *reply = team * REQUESTS + request;
}

int served(int team, int request) { return count[team][request]; }
