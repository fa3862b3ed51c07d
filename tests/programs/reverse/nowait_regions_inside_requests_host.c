/* The host's part of nowait_regions_inside_requests.c. */
void launch(int depth);

static _Atomic int count;

/* Launches two regions that do the same one level down, from two threads of a team, and waits for them. */
void spread(int depth) {
  count++;
  if (depth == 0)
    return;
#pragma omp parallel num_threads(2)
  {
    launch(depth - 1);
#pragma omp taskwait
  }
}

int blocks(void) { return count; }
