// The largest size that a buffer of a program can have.
#ifndef LCI_RUNTIME_CORE_BUFFER_SIZE_H_
#define LCI_RUNTIME_CORE_BUFFER_SIZE_H_

#include <cstddef>

namespace lci::rt {

// No processor of today gives a program more addresses (x86-64 with five levels of page tables:
// 56 bits). A size that has become negative, or that nothing was written to, is often larger.
constexpr size_t max_buffer_bytes = size_t{1} << 56;

}  // namespace lci::rt

#endif  // LCI_RUNTIME_CORE_BUFFER_SIZE_H_
