/* What map_attached_pointers.c and its host part share. */
struct vector {
  int length;
  int *data;
};
void add_to_vector(struct vector *v, int n);
