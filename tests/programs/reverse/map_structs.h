/* What map_structs.c and its host part share. */
struct record {
  int id;
  double weight;
  int list[4];
  char tag;
};
void change_whole(struct record *r);
void change_parts(int *id, int *list);
