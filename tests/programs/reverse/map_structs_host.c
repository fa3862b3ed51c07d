/* The host's part of map_structs.c. */
#include "map_structs.h"

#include "../check.h"

void change_whole(struct record *r) {
  CHECK(r->id == 1 && r->weight == 2.5 && r->list[0] == 10 && r->list[3] == 40 && r->tag == 'x',
        "arrived as %d %g %d %d %c", r->id, r->weight, r->list[0], r->list[3], r->tag);
  r->id++;
  r->weight *= 2;
  r->list[3] += 4;
  r->tag++;
}

void change_parts(int *id, int *list) {
  CHECK(*id == 2 && list[0] == 50 && list[3] == 80, "arrived as %d %d %d", *id, list[0], list[3]);
  *id = -*id;
  for (int i = 0; i < 4; i++)
    list[i] = -list[i];
}
