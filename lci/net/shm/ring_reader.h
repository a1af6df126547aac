// The receiving end of a ring; see ring.h for what both ends keep to.
#ifndef LCI_NET_SHM_RING_READER_H_
#define LCI_NET_SHM_RING_READER_H_

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lci/base/cache_aligned.h"
#include "lci/net/shm/copy_cost.h"
#include "lci/net/shm/message.h"
#include "lci/net/shm/ring_position.h"
#include "lci/net/shm/wire.h"

namespace lci::net::shm {

// Thread safety: free() by any thread at any time, once per message, wait-free. All else one thread
// at a time.
template <class Atomics>
class alignas(cache_line_size) basic_ring_reader {
 public:
  using control_type = basic_ring_control<Atomics>;
  using cell_type = basic_cell<Atomics>;
  enum class result { none, message, corrupt };

  // No message is larger than `max_size` bytes.
  void attach(control_type* control, cell_type* cells, uint32_t shift, size_t max_size) {
    control_ = control;
    cells_ = cells;
    count_ = uint32_t{1} << shift;
    quarter_ = (count_ - 1) / 4;
    max_size_ = static_cast<uint32_t>(max_size);
    max_span_ = static_cast<uint32_t>(span_of(max_size));
    spans_ = base::make_aligned_array<typename Atomics::template atomic<uint32_t>>(count_);
    for (uint32_t i = 0; i < count_; ++i) spans_[i].store(0, std::memory_order_relaxed);
  }

  // The next message, which stays where it is until its first cell is freed. After a malformed one
  // (`corrupt`) the ring is read no more.
  [[gnu::always_inline]] result next(incoming* out) {
    for (;;) {
      const uint32_t at = next_.get();
      uint64_t word = look(at);
      if (word == 0) return result::none;
      if (__builtin_expect(size_in(word) > max_size_, 0)) word = without_timing(at, word);
      const auto span = static_cast<uint32_t>(span_of(size_in(word)));
      out->next_put_offset = next_put_offset_in(word);
      if (__builtin_expect(kind_in(word) == ring_message_kind::pad, 0)) {
        if (!skip_pad(span)) return result::corrupt;
        continue;
      }
      if (__builtin_expect(size_in(word) > max_size_ || span > count_ - at, 0)) {
        return result::corrupt;
      }
      hand_out(at, word, span, out);
      return result::message;
    }
  }

  // The same if it is of that kind and has `min_size` to `max_size` bytes. False if it isn't, or
  // there is none: then nothing happened, and next() says what there is.
  [[gnu::always_inline]] bool next_of(ring_message_kind kind, uint32_t min_size, uint32_t max_size,
                                      incoming* out) {
    const uint32_t at = next_.get();
    const uint64_t word = look(at);
    if (!is_of(at, word, kind, min_size, max_size)) return false;
    hand_out(at, word, static_cast<uint32_t>(span_of(size_in(word))), out);
    return true;
  }

  // The same for a message that is read where it is, by read(word, bytes), and not handed out: nothing
  // is left to free.
  template <class Read>
  [[gnu::always_inline]] bool read_of(ring_message_kind kind, uint32_t min_size, uint32_t max_size,
                                      Read read) {
    const uint32_t at = next_.get();
    const uint64_t word = look(at);
    if (!is_of(at, word, kind, min_size, max_size)) return false;
    const auto span = static_cast<uint32_t>(span_of(size_in(word)));
    const bool is_front = is_all_free();
    read(word, cells_[at].bytes);
    if (__builtin_expect(!is_front, 0)) spans_[at].store(span, std::memory_order_relaxed);
    advance(span);
    end_read(is_front, span);
    return true;
  }

  // Reads up to `max` messages of one cell in a row, each of at most most_small bytes, and returns
  // their number. give(i, imm, size) gets the i-th message and returns the destination of
  // most_small bytes, which may be more than the message has: nothing is left to free. They are
  // read together with the word, before the sender, which writes the next message into the same
  // line, has taken that away again.
  template <class Give>
  [[gnu::always_inline]] size_t take_small(ring_message_kind kind, size_t max, Give give) {
    const bool is_front = is_all_free();
    const uint32_t least = low_word(kind, 0);
    const uint32_t count = count_;
    uint32_t at = next_.get();
    size_t taken = 0;
    for (; taken < max; ++taken) {
      const uint64_t word = look(at);
      if (static_cast<uint32_t>(word) - least > most_small) break;
      unsigned char* const small = give(taken, imm_in(word), size_in(word));
      Atomics::plain_read(cells_[at].bytes, most_small);
      std::memcpy(small, cells_[at].bytes, most_small);
      if (__builtin_expect(!is_front, 0)) spans_[at].store(1, std::memory_order_relaxed);
      if (++at == count) at = 0;
    }
    if (taken == 0) return 0;
    next_.set(at);
    unpublished_ += static_cast<uint32_t>(taken);
    end_read(is_front, taken);
    return taken;
  }
  static constexpr size_t most_small = cell_size - word_size;

  // The cell behind the last message handed out: it moves with each message.
  const ring_position& position() const { return next_; }

  // It becomes nonzero with the next message.
  const typename Atomics::template atomic<uint64_t>* next_word() const {
    return &cells_[next_.get()].word;
  }

  // That of the next message. (If there is none, no message's.)
  ring_message_kind next_kind() const {
    return kind_in(next_word()->load(std::memory_order_relaxed));
  }
  // next() would find nothing.
  bool has_none() const { return next_word()->load(std::memory_order_relaxed) == 0; }

  // Neither next() nor reclaim() would do anything. A look, which is cheaper.
  bool is_idle() const { return has_none() && unpublished_ <= quarter_; }

  // Ends the use of a message. Messages may be freed in any order; the sender has their cells back
  // after a reclaim().
  void free(uint32_t first_cell, size_t size) {
    spans_[first_cell].store(static_cast<uint32_t>(span_of(size)),
                             std::memory_order_release);  // R3
  }

  // Gives the sender back what is freed at the front, once that is more than a quarter of the ring:
  // not each time, since it takes the line away from the sender. A quarter is enough for any
  // message, and the part that is not yet published is no more than that.
  void reclaim() {
    if (__builtin_expect(unpublished_ > quarter_, 0)) reclaim_front();
  }

  bool sender_closed() const {
    return control_->closed.load(std::memory_order_acquire) != 0;  // A4
  }

 private:
  // Bytes of a message whose lines are fetched together. More of them would keep its copy waiting.
  static constexpr uintptr_t most_fetched = 8 * cache_line_size;

  // Once for each message: the sender could change it between a check and a use.
  uint64_t look(uint32_t at) const {
    return cells_[at].word.load(std::memory_order_acquire);  // A1
  }

  // Whether the next message, which begins in cell `at` with this word, is of that kind and has `min_size` to `max_size`
  // bytes. One that runs over the end of the ring is of no kind.
  [[gnu::always_inline]] bool is_of(uint32_t at, uint64_t word, ring_message_kind kind,
                                    uint32_t min_size, uint32_t max_size) const {
    return kind_in(word) == kind && size_in(word) >= min_size && size_in(word) <= max_size &&
           span_of(size_in(word)) <= count_ - at;
  }
  [[gnu::always_inline]] void hand_out(uint32_t at, uint64_t word, uint32_t span, incoming* out) {
    out->kind = kind_in(word);
    out->imm = imm_in(word);
    out->size = size_in(word);
    out->bytes = cells_[at].bytes;
    out->first_cell = at;
    // Its other lines, while it is found out whose the message is. By number: the second one may be
    // behind the end of the ring, where no pointer may point.
    const auto begin = reinterpret_cast<uintptr_t>(out->bytes) - word_size;
    const uintptr_t end = begin + std::min<uintptr_t>(span * cell_size, most_fetched);
    uintptr_t line = begin + cache_line_size;
    do {
      __builtin_prefetch(reinterpret_cast<const void*>(line));
      line += cache_line_size;
    } while (line < end);
    advance(span);
  }
  void advance(uint32_t span) {
    unpublished_ += span;
    const uint32_t behind = next_.get() + span;
    next_.set(behind == count_ ? 0 : behind);
  }

  // A word without its request to time the message, with which it looks too large; the message has
  // been timed then. Its lines come into this processor's caches by that.
  [[gnu::noinline]] uint64_t without_timing(uint32_t at, uint64_t word) {
    if ((size_in(word) & is_timed) == 0) return word;
    const size_t stores = (size_in(word) & is_timed_past_caches) != 0 ? 1 : 0;
    const uint64_t plain = word & ~uint64_t{is_timed | is_timed_past_caches};
    const uint32_t size = size_in(plain);
    if (size == 0 || size > max_size_ || span_of(size) > count_ - at) return word;
    const auto* const bytes = reinterpret_cast<const unsigned char*>(cells_[at].bytes);
    const auto begin = std::chrono::steady_clock::now();
    for (size_t i = 0; i < size; i += cache_line_size) {
      (void)*static_cast<const volatile unsigned char*>(bytes + i);
    }
    read_costs_[stores].took(size, std::chrono::steady_clock::now() - begin);
    control_->read_costs[stores].store(read_costs_[stores].per_byte(), std::memory_order_relaxed);
    return plain;
  }

  // All that was handed out is freed.
  bool is_all_free() const { return freed_ == published_ + unpublished_; }
  // For so many cells that have been read; `is_front`: all before them was free.
  [[gnu::always_inline]] void end_read(bool is_front, uint64_t span) {
    if (__builtin_expect(is_front, 1)) {
      freed_ += span;
    } else {
      free_front();  // soon they are the front again, unless somebody keeps a message
    }
  }

  // It fills the end, and was needed only because a message did not fit there. False if it can't be
  // one. (A pad at the front of the ring can't: there are never two in a row.)
  [[gnu::noinline]] bool skip_pad(uint32_t span) {
    const uint32_t at = next_.get();
    if (span != count_ - at || span >= max_span_) return false;
    spans_[at].store(span, std::memory_order_relaxed);
    advance(span);
    return true;
  }

  // Moves freed_ on as far as all is free.
  [[gnu::noinline]] void free_front() {
    const uint64_t read = published_ + unpublished_;
    while (freed_ != read) {
      auto& slot = spans_[freed_ & (count_ - 1)];
      const uint32_t span = slot.load(std::memory_order_acquire);  // A3
      if (span == 0) break;
      slot.store(0, std::memory_order_relaxed);
      freed_ += span;
    }
  }

  [[gnu::noinline]] void reclaim_front() {
    free_front();
    const uint64_t read = published_ + unpublished_;
    if (freed_ - published_ > quarter_) {
      control_->freed.store(freed_, std::memory_order_release);  // R2
      published_ = freed_;
      unpublished_ = static_cast<uint32_t>(read - freed_);
    }
  }

  // Constant, so that threads that free don't wait for the one that reads.
  cell_type* cells_ = nullptr;
  // spans_[i] is the span of the message that begins in cell i and is freed, until it is reclaimed;
  // else 0. Not in the ring, where the sender could change it.
  base::aligned_array<typename Atomics::template atomic<uint32_t>> spans_;
  control_type* control_ = nullptr;
  uint32_t count_ = 0;  // cells of the ring
  uint32_t quarter_ = 0;
  uint32_t max_span_ = 0;
  uint32_t max_size_ = 0;

  alignas(cache_line_size) ring_position next_;  // see position()
  uint32_t unpublished_ = 0;                     // cells handed out, less those below published_
  // Positions, which count cells through all laps.
  uint64_t freed_ = 0;      // cells below are free
  uint64_t published_ = 0;  // ring_control::freed

  std::array<copy_cost, 2> read_costs_;  // by base::store_kind; see ring_control
};

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_RING_READER_H_
