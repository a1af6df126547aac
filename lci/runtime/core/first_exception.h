// The exception with which a call of progress() ends, when it handles several completions of which
// more than one throws.
#ifndef LCI_RUNTIME_CORE_FIRST_EXCEPTION_H_
#define LCI_RUNTIME_CORE_FIRST_EXCEPTION_H_

#include <exception>
#include <string>

namespace lci::rt {

// Inside a catch clause: stores the exception in *failure if none is there, and logs it otherwise. A
// peer_failure_error takes the place of any other exception, which is logged then: the program gets
// it only once.
[[gnu::cold, gnu::noinline]] void keep_first_exception(std::exception_ptr* failure);

// what() of a std::exception; of another exception, a text that says so.
std::string exception_text(const std::exception_ptr& exception);

}  // namespace lci::rt

#endif  // LCI_RUNTIME_CORE_FIRST_EXCEPTION_H_
