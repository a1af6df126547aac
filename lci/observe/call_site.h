// Where in the program a call of the library was made.
#ifndef LCI_OBSERVE_CALL_SITE_H_
#define LCI_OBSERVE_CALL_SITE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace lci::observe {

// Return addresses of the calling thread, innermost first. Plain data.
class call_stack {
 public:
  // Walks the stack; some microseconds.
  static call_stack here();

  // The innermost function that is not of namespace lci, as "program(function+0x12)", or
  // "program+0x1234", an address for addr2line(1), where the file has no symbols. Empty: there is
  // none. Reads the symbol tables of the files, which takes milliseconds.
  std::string caller() const;

 private:
  static constexpr size_t most_frames = 32;
  std::array<uintptr_t, most_frames> frames_{};
  size_t count_ = 0;
};

}  // namespace lci::observe

#endif  // LCI_OBSERVE_CALL_SITE_H_
