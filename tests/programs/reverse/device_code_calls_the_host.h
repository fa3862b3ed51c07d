/* What device_code_calls_the_host.c and its host part share. */
#ifndef DEVICE_CODE_CALLS_THE_HOST_H
#define DEVICE_CODE_CALLS_THE_HOST_H

enum { TRIPLE, SQUARE, COUNT };

struct message {
  int value, answer;
};

extern int calls, posts, counts[1000];

/* What the region requests. */
void add_calls(int *x);

/* Finds the plugin, which libgomp loads, and registers what handles calls. */
void register_handler(void);

#endif
