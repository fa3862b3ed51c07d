// boomerang: checks: malloc, variable-length arrays, alloca, memcpy and strings work on the device
#include <string.h>

#include "../check.h"

int main(void) {
  int sum = 0, vla_sum = 0, order = 0, length = 0;
  char text[32] = "";
  int n = 50;
#pragma omp target map(from : sum, vla_sum, order, length) map(tofrom : text) firstprivate(n)
  {
    int *list = malloc((size_t)n * sizeof *list), *copy = calloc((size_t)n, sizeof *copy);
    sum = list && copy ? 0 : -1000000;
    for (int i = 0; i < n; i++)
      list[i] = i;
    memcpy(copy, list, (size_t)n * sizeof *list);
    memset(list, 0, (size_t)n * sizeof *list);
    for (int i = 0; i < n; i++)
      sum += copy[i] + list[i];
    free(copy);
    free(list);

    int vla[n];
    char *extra = __builtin_alloca((size_t)n);
    for (int i = 0; i < n; i++)
      vla[i] = extra[i] = (char)i;
    vla_sum = 0;
    for (int i = 0; i < n; i++)
      vla_sum += vla[i] + extra[i];

    strcpy(text, "from ");
    strcat(text, "the device");
    order = strcmp(text, "from the host");
    length = (int)strlen(text);
  }
  CHECK(sum == 1225, "allocated memory held %d", sum);
  CHECK(vla_sum == 2450, "the stack held %d", vla_sum);
  CHECK(!strcmp(text, "from the device") && length == 15 && order < 0, "text: %s, %d, %d", text, length, order);
  return 0;
}
