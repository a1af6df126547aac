// A checksum of a buffer that the program must leave alone for some time.
#ifndef LCI_RUNTIME_CHECK_BUFFER_SUM_H_
#define LCI_RUNTIME_CHECK_BUFFER_SUM_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lci::rt {

// Sums of the 4 KiB blocks of a buffer. Of a buffer with more than `most` bytes, the first and the
// last most / 2 bytes are summed.
//
// The kernel reads the buffer (process_vm_readv(2)), so that memory that is no longer mapped is
// found and does not end the process, and memory sanitizers do not see the read. Where the kernel
// does not allow that, the buffer is read directly. Two contents have the same sum with a
// probability of about 2^-64.
class buffer_sum {
 public:
  buffer_sum() = default;
  buffer_sum(const void* buffer, size_t size, size_t most);

  struct difference {
    enum class kind { none, changed, unmapped } what = kind::none;
    // The first block that differs: bytes of the buffer.
    size_t begin = 0;
    size_t end = 0;
  };
  // Between the buffer now and what it was when this object was made. `unmapped`, also from a call
  // right after the making, if the buffer could not be read at that time.
  difference compare() const;

 private:
  struct block {
    size_t offset;
    size_t size;
  };
  static constexpr size_t block_size = 4096;
  // Calls visit(block, sum, is_mapped) until it returns false.
  template <class Visit>
  void for_each_block(const Visit& visit) const;

  const char* buffer_ = nullptr;
  size_t size_ = 0;
  size_t most_ = 0;
  std::vector<uint64_t> sums_;
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_CHECK_BUFFER_SUM_H_
