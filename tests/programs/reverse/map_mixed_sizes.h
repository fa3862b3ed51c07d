/* What map_mixed_sizes.c and its host part share. */
enum { LARGE = 65536 };
void change(char *one, char *odd, char *medium, double *number, char *to, char *from, char *large);
