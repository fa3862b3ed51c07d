/* What map_firstprivate.c and its host part share. */
enum { BIG = 300 };
struct big {
  int values[BIG];
};
void check_values(char c, short s, int i, long l, float f, double d, int *null);
void check_big(struct big *big);
