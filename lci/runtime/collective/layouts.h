// The layouts that a program passes to a collective operation.
#ifndef LCI_RUNTIME_COLLECTIVE_LAYOUTS_H_
#define LCI_RUNTIME_COLLECTIVE_LAYOUTS_H_

#include <cstddef>
#include <vector>

#include "lci/api/types.hpp"
#include "lci/runtime/collective/call.h"

namespace lci::rt {

// Before the call begins: what it passes on as its send buffer, or receive buffer, where the blocks
// stand one behind the other. That is `buffer` itself if `layouts`, which the program calls `name`,
// is null; and part of it if the layouts say the same. Otherwise it is room of the call's own.
// Throws std::invalid_argument if a layout has another size than its block, or, of a receive
// buffer, pieces that overlap.
//
// `sizes`: bytes of the blocks, which have a layout each.
const void* send_buffer(collective_call* call, const void* buffer, const layout_t* layouts,
                        const std::vector<size_t>& sizes, const char* name);
void* receive_buffer(collective_call* call, void* buffer, const layout_t* layouts,
                     const std::vector<size_t>& sizes, const char* name);
// The same of one block, whose layout is not in an array.
const void* send_buffer_of(collective_call* call, const void* buffer, const layout_t& layout,
                           size_t size, const char* name);
void* receive_buffer_of(collective_call* call, void* buffer, const layout_t& layout, size_t size,
                        const char* name);
inline const void* send_buffer(collective_call* call, const void* buffer, const layout_t* layout,
                               size_t size, const char* name) {
  return layout == nullptr ? buffer : send_buffer_of(call, buffer, *layout, size, name);
}
inline void* receive_buffer(collective_call* call, void* buffer, const layout_t* layout,
                            size_t size, const char* name) {
  return layout == nullptr ? buffer : receive_buffer_of(call, buffer, *layout, size, name);
}

// Of operations whose blocks have one size. Empty if `layouts` is null, and the sizes are not used.
std::vector<size_t> equal_sizes(const collective_call& call, const layout_t* layouts, size_t size);

// Throws std::invalid_argument if the program passes both.
void refuse_both(const collective_call& call, const layout_t* layouts, const char* name,
                 const size_t* offsets, const char* name_of_offsets);

}  // namespace lci::rt

#endif  // LCI_RUNTIME_COLLECTIVE_LAYOUTS_H_
