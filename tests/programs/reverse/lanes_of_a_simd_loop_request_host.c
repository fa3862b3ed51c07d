/* The host's part of lanes_of_a_simd_loop_request.c. */
void square(int *x) { *x *= *x; }
