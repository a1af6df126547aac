#ifndef LCI_TESTS_PUBLIC_CHECK_H_
#define LCI_TESTS_PUBLIC_CHECK_H_

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>

#include "lci.hpp"

// For programs that are tests: a failed expectation is said with its rank and place, and ends the
// rank with 1, so that lcrun ends the job.
#define EXPECT(condition)                                                            \
  do {                                                                               \
    if (!(condition)) {                                                              \
      std::fprintf(stderr, "%s:%d: rank %d: %s does not hold\n", __FILE__, __LINE__, \
                   lci::get_rank_me(), #condition);                                  \
      std::_Exit(1);                                                                 \
    }                                                                                \
  } while (false)

// The call throws this.
#define EXPECT_THROW(call, exception)           \
  do {                                          \
    bool thrown = false;                        \
    try {                                       \
      call;                                     \
    } catch (const exception&) {                \
      thrown = true;                            \
    }                                           \
    EXPECT(thrown || !#exception " by " #call); \
  } while (false)

// main of such a program.
inline int run_test(void (*body)()) {
  try {
    body();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "exception: %s\n", error.what());
    return 1;
  }
}

#endif  // LCI_TESTS_PUBLIC_CHECK_H_
