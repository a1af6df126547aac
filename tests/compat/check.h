// For the launched programs: expectations, and loops as clients write them.
//
// The loops never yield the processor: a client that waits polls, and nothing else. Their
// conditions must also become true with more ranks and threads than processors.
#ifndef LCI_TESTS_COMPAT_CHECK_H_
#define LCI_TESTS_COMPAT_CHECK_H_

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <vector>

#include "lci.hpp"

// A failed expectation is printed with its rank and place, and ends the rank with 1, so that lcrun
// ends the job.
#define EXPECT(...)                                                                  \
  do {                                                                               \
    if (!(__VA_ARGS__)) {                                                            \
      std::fprintf(stderr, "%s:%d: rank %d: %s does not hold\n", __FILE__, __LINE__, \
                   lci::get_rank_me(), #__VA_ARGS__);                                \
      std::_Exit(1);                                                                 \
    }                                                                                \
  } while (false)

// Both sides are printed.
#define EXPECT_EQ(left_, right_) \
  compat::expect_equal((left_), (right_), #left_ " == " #right_, __FILE__, __LINE__)

namespace compat {

template <class Left, class Right>
void expect_equal(const Left& left, const Right& right, const char* text, const char* file,
                  int line) {
  if (left == right) return;
  std::fprintf(stderr, "%s:%d: rank %d: %s does not hold: %lld and %lld\n", file, line,
               lci::get_rank_me(), text, static_cast<long long>(left),
               static_cast<long long>(right));
  std::_Exit(1);
}

inline size_t index_of(int rank) { return static_cast<size_t>(rank); }

// The ranks in a ring.
inline int next_rank() { return (lci::get_rank_me() + 1) % lci::get_rank_n(); }
inline int previous_rank() {
  return (lci::get_rank_me() + lci::get_rank_n() - 1) % lci::get_rank_n();
}

// Posts until the answer is not retry.
template <class Op>
lci::status_t post(const Op& op) {
  lci::status_t status = op();
  while (status.is_retry()) {
    lci::progress();
    status = op();
  }
  return status;
}

inline lci::status_t pop(lci::comp_t cq) {
  lci::status_t status;
  do {
    lci::progress();
    status = lci::cq_pop(cq);
  } while (status.is_retry());
  return status;
}

inline lci::status_t wait(lci::comp_t sync) {
  lci::status_t status;
  while (!lci::sync_test(sync, &status)) lci::progress();
  return status;
}

// Posts, and waits for the end: the status, wherever it came from.
template <class Op>
lci::status_t complete(const Op& op, lci::comp_t sync) {
  const lci::status_t status = post(op);
  if (status.is_done()) return status;
  EXPECT(status.is_posted());
  return wait(sync);
}

// Bytes that show where they belong.
inline char byte_of(int rank, size_t position) {
  return static_cast<char>((static_cast<size_t>(rank) * 37 + position * 7 + position / 251) & 0x7f);
}
inline std::vector<char> bytes_of(int rank, size_t size) {
  std::vector<char> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = byte_of(rank, i);
  return bytes;
}
inline bool are_bytes_of(int rank, const void* bytes, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    if (static_cast<const char*>(bytes)[i] != byte_of(rank, i)) return false;
  }
  return true;
}

// main of such a program.
inline int run(void (*body)()) {
  try {
    body();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "exception: %s\n", error.what());
    return 1;
  }
}

}  // namespace compat

#endif  // LCI_TESTS_COMPAT_CHECK_H_
