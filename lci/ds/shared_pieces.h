// A range of bytes that several threads, of one process or of several, process together.
#ifndef LCI_DS_SHARED_PIECES_H_
#define LCI_DS_SHARED_PIECES_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lci::ds {

// Each thread takes pieces until none is left, one from the front and the others from the back: where
// they process the same memory again and again, each of two mostly has its part in its own cache. A
// thread that comes late, or not at all, leaves all pieces to the others.
//
// `taken`, which they share, is 0 at first.
//
// Thread safety: any thread at any time. Orders nothing: the threads learn of the memory, and of
// each other's end, in another way.
class shared_pieces {
 public:
  enum class side { front, back };

  // `item_size`: bytes that stay together; `size` is a multiple.
  shared_pieces(std::atomic<uint64_t>* taken, size_t size, size_t item_size = 1)
      : taken_(taken), size_(size), piece_bytes_(piece_bytes(size, item_size)) {}

  uint64_t count() const { return (size_ + piece_bytes_ - 1) / piece_bytes_; }

  // Calls process(offset, bytes) for each piece that this thread takes, until that returns false.
  // Returns the number of these calls; *whole: whether all returned true.
  template <class Process>
  uint64_t take(side own, const Process& process, bool* whole) const {
    const size_t piece = piece_bytes_;
    const uint64_t all = count();
    const uint64_t step = own == side::front ? 1 : uint64_t{1} << back_shift;
    uint64_t called = 0;
    *whole = true;
    // Another process could set the counter back: no more than there are.
    while (called < all) {
      const uint64_t taken = taken_->fetch_add(step, std::memory_order_relaxed);
      const uint64_t at_front = taken & UINT32_MAX;
      const uint64_t at_back = taken >> back_shift;
      if (at_front + at_back >= all) break;
      ++called;
      const size_t begin = (own == side::front ? at_front : all - 1 - at_back) * piece;
      *whole = process(begin, std::min(piece, size_ - begin));
      if (!*whole) break;
    }
    return called;
  }

 private:
  static constexpr int back_shift = 32;

  // Large enough that a system call for each costs little, and small enough that nobody waits long
  // for another one's last one.
  static size_t piece_bytes(size_t size, size_t item_size) {
    constexpr size_t least = size_t{32} << 10;
    constexpr size_t most = size_t{256} << 10;
    return std::max(std::clamp(size / 8, least, most) / item_size, size_t{1}) * item_size;
  }

  std::atomic<uint64_t>* const taken_;
  const size_t size_;
  const size_t piece_bytes_;
};

}  // namespace lci::ds

#endif  // LCI_DS_SHARED_PIECES_H_
