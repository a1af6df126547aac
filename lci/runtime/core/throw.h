// How the runtime reports a mistake or a failure to the program: an exception whose text begins
// with "lci: ". The functions are cold and not inlined, so a check costs its caller one branch.
#ifndef LCI_RUNTIME_CORE_THROW_H_
#define LCI_RUNTIME_CORE_THROW_H_

#include <new>
#include <stdexcept>
#include <string>

#include "lci/api/types.hpp"
#include "lci/base/strings.h"

namespace lci::rt {

// Throws `Error` with the text "lci: " and the parts, as base::StrCat joins them.
template <class Error, class... Parts>
[[noreturn, gnu::noinline, gnu::cold]] void throw_error(const Parts&... parts) {
  throw Error(base::StrCat("lci: ", parts...));
}

// An argument or a setting of the program is wrong.
template <class... Parts>
[[noreturn]] void throw_invalid_argument(const Parts&... parts) {
  throw_error<std::invalid_argument>(parts...);
}

// The program may not make this call now.
template <class... Parts>
[[noreturn]] void throw_logic_error(const Parts&... parts) {
  throw_error<std::logic_error>(parts...);
}

// Something outside of the program has failed.
template <class... Parts>
[[noreturn]] void throw_runtime_error(const Parts&... parts) {
  throw_error<std::runtime_error>(parts...);
}

// std::bad_alloc with a text that names what there was no memory for.
class memory_error final : public std::bad_alloc {
 public:
  explicit memory_error(const std::string& text) : text_(text) {}
  const char* what() const noexcept override { return text_.what(); }

 private:
  std::runtime_error text_;  // copied without an allocation, as an exception has to be
};

// There is not enough memory, or not enough addresses.
template <class... Parts>
[[noreturn]] void throw_memory_error(const Parts&... parts) {
  throw_error<memory_error>(parts...);
}

// The call of this rank cannot end, since another rank is gone.
[[noreturn, gnu::noinline, gnu::cold]] inline void throw_gone(const char* call, int rank,
                                                              int gone) {
  throw peer_failure_error(
      gone, base::StrCat("lci: ", call, " on rank ", rank, ": rank ", gone, " is gone"));
}

}  // namespace lci::rt

#endif  // LCI_RUNTIME_CORE_THROW_H_
