/* The host's part of several_units_request.c. */
void append_digit(int *number, int digit) { *number = 10 * *number + digit; }
