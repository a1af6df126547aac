#include "lci/runtime/collective/layouts.h"

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "lci/base/strings.h"
#include "lci/coll/staging.h"

namespace lci::rt {
namespace {

enum class direction { send, receive };

template <class... Why>
[[noreturn]] void refuse(const collective_call& call, const Why&... why) {
  throw std::invalid_argument(base::StrCat("lci: ", call.name(), ": ", why...));
}

void check(const collective_call& call, const layout_t& layout, size_t size, direction where,
           const std::string& name) {
  if (!coll::is_representable(layout)) {
    refuse(call, name, " exceeds the address space");
  }
  if (layout.size() != size) {
    refuse(call, name, " has ", layout.size(), " bytes, and its block ", size);
  }
  if (where == direction::receive && coll::has_overlap(layout)) {
    refuse(call, name, " has pieces that overlap: ", layout.count, " of ", layout.length,
           " bytes with stride ", layout.stride, ", ", layout.count2, " times with stride2 ",
           layout.stride2);
  }
}

// Where the blocks stand one behind the other, in bytes from the start of the buffer; nothing if
// they do not.
std::optional<size_t> contiguous_at(const std::vector<layout_t>& blocks) {
  std::optional<size_t> first;
  size_t next = 0;
  for (const layout_t& each : blocks) {
    if (each.size() == 0) continue;
    if (!first) first = next = each.offset;
    if (each.offset != next || !coll::is_contiguous(each)) return std::nullopt;
    next += each.size();
  }
  return first ? first : 0;
}

const char* send_from(collective_call* call, const void* buffer, std::vector<layout_t> blocks) {
  const auto* const begin = static_cast<const char*>(buffer);
  if (const auto at = contiguous_at(blocks)) return *at == 0 ? begin : begin + *at;
  return call->make_staging().stage_send(buffer, std::move(blocks));
}

char* receive_into(collective_call* call, void* buffer, std::vector<layout_t> blocks) {
  auto* const begin = static_cast<char*>(buffer);
  if (const auto at = contiguous_at(blocks)) return *at == 0 ? begin : begin + *at;
  return call->make_staging().stage_receive(buffer, std::move(blocks));
}

std::vector<layout_t> checked(const collective_call& call, const layout_t* layouts,
                              const std::vector<size_t>& sizes, direction where, const char* name) {
  for (size_t r = 0; r < sizes.size(); ++r) {
    check(call, layouts[r], sizes[r], where, base::StrCat(name, "[", r, "]"));
  }
  return std::vector<layout_t>(layouts, layouts + sizes.size());
}

std::vector<layout_t> checked(const collective_call& call, const layout_t& layout, size_t size,
                              direction where, const char* name) {
  check(call, layout, size, where, name);
  return {layout};
}

}  // namespace

const void* send_buffer(collective_call* call, const void* buffer, const layout_t* layouts,
                        const std::vector<size_t>& sizes, const char* name) {
  if (layouts == nullptr) return buffer;
  return send_from(call, buffer, checked(*call, layouts, sizes, direction::send, name));
}

void* receive_buffer(collective_call* call, void* buffer, const layout_t* layouts,
                     const std::vector<size_t>& sizes, const char* name) {
  if (layouts == nullptr) return buffer;
  return receive_into(call, buffer, checked(*call, layouts, sizes, direction::receive, name));
}

const void* send_buffer_of(collective_call* call, const void* buffer, const layout_t& layout,
                           size_t size, const char* name) {
  return send_from(call, buffer, checked(*call, layout, size, direction::send, name));
}

void* receive_buffer_of(collective_call* call, void* buffer, const layout_t& layout, size_t size,
                        const char* name) {
  return receive_into(call, buffer, checked(*call, layout, size, direction::receive, name));
}

std::vector<size_t> equal_sizes(const collective_call& call, const layout_t* layouts, size_t size) {
  if (layouts == nullptr) return {};
  return std::vector<size_t>(static_cast<size_t>(call.size()), size);
}

void refuse_both(const collective_call& call, const layout_t* layouts, const char* name,
                 const size_t* offsets, const char* name_of_offsets) {
  if (layouts != nullptr && offsets != nullptr) {
    refuse(call, name, " and ", name_of_offsets, " are both given");
  }
}

}  // namespace lci::rt
