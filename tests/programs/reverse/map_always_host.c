/* The host's part of map_always.c. */
void look(int *x, int *seen, int store) {
  *seen = *x;
  *x = store;
}
