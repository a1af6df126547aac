// Puts and gets between blocks (api/block.hpp), resolved to what the network is asked for.
#ifndef LCI_RUNTIME_BLOCKS_BLOCK_H_
#define LCI_RUNTIME_BLOCKS_BLOCK_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "lci/api/block.hpp"
#include "lci/net/op.h"
#include "lci/runtime/device/device.h"
#include "lci/runtime/protocol/rma.h"

namespace lci::rt {

constexpr int max_rails = 16;

// The part of a block operation that goes over one device, in one piece of memory at each side.
struct stripe : net::op {
  device_impl_t* device = nullptr;
  remote_signal signal;     // as sent to the target; `part` is the caller's
  mr_impl_t* mr = nullptr;  // of the local block
  uint64_t serial = 0;      // of it
};

// A put or get between two blocks, checked. Refers to nothing that the caller must keep.
class block_operation {
 public:
  // Throws std::invalid_argument, naming `call` and what is wrong.
  block_operation(const char* call, direction_t direction, const block_t& local,
                  const block_t& remote, const block_options_t& options);

  runtime_impl_t& runtime() const { return *runtime_; }
  device_impl_t& device(int i) const { return *rails_[static_cast<size_t>(i)]; }
  // Of this side; null: none.
  comp_impl_t* comp() const { return comp_; }

  // Over how many devices it goes.
  int stripes() const { return stripes_; }
  stripe stripe_at(int i) const;

 private:
  struct place {  // not initialized: most operations have one
    mr_impl_t* mr;
    uint64_t serial;
    void* buffer;
    uint64_t remote_base;
    uint64_t remote_key;
    uint64_t remote_offset;
  };
  void find_rails(const char* call, const block_options_t& options);
  void find_place(const char* call, const block_t& local, const block_t& remote, int rail);
  void find_comp(const char* call, const rsignal_t& of_block, comp_t local_comp);
  void choose_stripes(const char* call, const block_options_t& options);

  runtime_impl_t* runtime_;
  net::op_kind kind_;
  int rank_;
  size_t size_;
  comp_impl_t* comp_ = nullptr;
  remote_signal signal_;
  int nrails_ = 0;
  int stripes_ = 1;
  std::array<device_impl_t*, max_rails> rails_;
  std::array<place, max_rails> places_;
};

// `part` as in signal_event, of the i-th of n stripes or pieces that make one event.
inline uint32_t part_number(size_t i, size_t n) {
  if (n == 1) return 0;
  return i == 0 ? static_cast<uint32_t>(n) : 1;
}

// Throws std::invalid_argument unless the memory of a local block is still registered.
void check_memory(const char* call, const mr_impl_t* mr, uint64_t serial);

}  // namespace lci::rt

#endif  // LCI_RUNTIME_BLOCKS_BLOCK_H_
