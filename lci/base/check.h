// Checks of the library's own invariants. For a caller's mistake, throw the exception that the
// interface documents; for set-up errors, return Status.
#ifndef LCI_BASE_CHECK_H_
#define LCI_BASE_CHECK_H_

#include <stdexcept>
#include <string>

#include "lci/base/strings.h"

namespace lci::base {

// Thrown if an invariant of the library does not hold. what() names the place, the condition and
// the values.
class check_error : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// Throws check_error. Out of line, so that a check costs its caller one compare and one branch.
[[noreturn]] void fail_check(const char* file, int line, const char* condition,
                             const std::string& message);

}  // namespace lci::base

// LCI_CHECK(condition, pieces...): throws check_error unless the condition holds, in every build.
// The pieces (at least one) are arguments of StrCat and are evaluated only on failure.
#define LCI_CHECK(condition, ...)                                                                \
  do {                                                                                           \
    if (__builtin_expect(!(condition), 0)) {                                                     \
      ::lci::base::fail_check(__FILE__, __LINE__, #condition, ::lci::base::StrCat(__VA_ARGS__)); \
    }                                                                                            \
  } while (false)

// As LCI_CHECK in builds without NDEBUG; otherwise compiled but never evaluated.
#ifdef NDEBUG
#define LCI_ASSERT(condition, ...)                \
  do {                                            \
    if (false) LCI_CHECK(condition, __VA_ARGS__); \
  } while (false)
#else
#define LCI_ASSERT(condition, ...) LCI_CHECK(condition, __VA_ARGS__)
#endif

#endif  // LCI_BASE_CHECK_H_
