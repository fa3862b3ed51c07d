/* What map_firstprivate_by_copy.c and its host part share. */
enum { BIG = 300 };
struct big {
  int values[BIG];
};
struct text {
  char letters[5];
};
void check_values(float f, double d, struct text *text, struct big *big);
