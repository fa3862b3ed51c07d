// boomerang: checks: atomic compare-and-swap of 4 and 8 bytes, and narrow atomics, hold across teams
// boomerang: device-flags: -latomic
#include "../check.h"

int main(void) {
  unsigned word = 0, lock_holder_errors = 0, lock = 0, protected_count = 0;
  unsigned long long wide = 0;
  unsigned char byte = 0;
  unsigned short half = 0;
#pragma omp target teams distribute num_teams(8) map(tofrom : word, wide, byte, half, lock, protected_count, lock_holder_errors)
  for (int i = 0; i < 200; i++) {
    unsigned old = __atomic_load_n(&word, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&word, &old, old + 3, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      ;
    unsigned long long seen = __atomic_load_n(&wide, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&wide, &seen, seen + (1ULL << 40), 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      ;
    __atomic_fetch_add(&byte, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&half, 300, __ATOMIC_SEQ_CST);
    while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
      ;
    unsigned before = protected_count;
    protected_count = before + 1;
    if (protected_count != before + 1)
      lock_holder_errors++;
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
  }
  CHECK(word == 600, "4 bytes: %u", word);
  CHECK(wide == 200ULL << 40, "8 bytes: %llx", wide);
  CHECK(byte == 200, "1 byte: %u", byte);
  CHECK(half == (unsigned short)60000, "2 bytes: %u", half);
  CHECK(protected_count == 200 && !lock_holder_errors, "under the lock: %u", protected_count);
  return 0;
}
