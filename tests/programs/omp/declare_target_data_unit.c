/* The other translation unit of declare_target_data.c. */
#pragma omp begin declare target
int bump_shared(void);
int shared_between_units = 7;
int bump_shared(void) { return ++shared_between_units; }
#pragma omp end declare target
