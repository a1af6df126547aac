// The sending end of a ring; see ring.h for what both ends keep to.
#ifndef LCI_NET_SHM_RING_WRITER_H_
#define LCI_NET_SHM_RING_WRITER_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>

#include "lci/base/check.h"
#include "lci/base/copy.h"
#include "lci/base/prefetch.h"
#include "lci/ds/biased_lock.h"
#include "lci/net/shm/distance.h"
#include "lci/net/shm/message.h"
#include "lci/net/shm/ring_position.h"
#include "lci/net/shm/store_selector.h"
#include "lci/net/shm/wire.h"

namespace lci::net::shm {

// Thread safety: none; the caller holds `lock`, which is here so that it shares a line with what it
// guards. close() may be called once nobody writes any more.
template <class Atomics>
class alignas(cache_line_size) basic_ring_writer {
 public:
  using control_type = basic_ring_control<Atomics>;
  using cell_type = basic_cell<Atomics>;

  // A ring of 2^shift cells that are all 0.
  void attach(control_type* control, cell_type* cells, uint32_t shift) {
    receiver_ = std::make_unique<receiving_end>();
    receiver_->control = control;
    cells_ = cells;
    mask_ = (uint64_t{1} << shift) - 1;
    set_room(0);
    wiped_ = 1;
  }

  // The distance of the receiver, its pulse, and where the messages that it sends to this rank have
  // come to (ring_reader::position). Before the first write.
  void set_receiver(distance_mode mode, const std::atomic<uint32_t>& pulse,
                    const ring_position& answers) {
    receiver_->how_far.assume(mode);
    receiver_->how_far.watch(pulse);
    receiver_->answers = &answers;
  }

  // False if there is no room now; then nothing happened.
  [[gnu::noinline]] bool write(ring_message_kind kind, uint32_t imm, const iovec& message) {
    const size_t size = message.header_size + message.size;
    const uint64_t span = span_of(size);
    if (!is_free(written_ + pad_before(span) + span)) return false;
    if (const uint64_t pad = pad_before(span); pad > 0) {
      end_message(pad, ring_message_kind::pad, 0, pad * cell_size - word_size);
    }
    cell_type* const first = &cells_[written_ & mask_];
    const store_selector::choice chosen = stores_for(size);
    const clock::time_point begin = chosen.timed ? clock::now() : clock::time_point();
    // The header last: its line may be with the receiver, and stores keep their order.
    copy_in(first, message.header_size, message.bytes, message.size, chosen.stores);
    if (message.header_size > 0) copy_in(first, 0, message.header, message.header_size);
    if (__builtin_expect(chosen.timed, 0)) {
      // Until the lines are written: later stores would wait for that.
      std::atomic_thread_fence(std::memory_order_seq_cst);
      receiver_->selector.took(chosen.stores, size, clock::now() - begin);
    }
    end_message(span, kind, imm, size | timing_bits(chosen));
    if (span > cells_per_line && span <= most_fetched && !bypasses_caches(chosen))
      fetch_ahead(span);
    return true;
  }

  // Variant of write for messages of at most a line (is_short), which most are. Returns false also
  // if more than the writing is needed. Calls no function, so that the caller has no registers to
  // save.
  [[gnu::always_inline]] bool write_short(ring_message_kind kind, uint32_t imm, const void* bytes,
                                          size_t size) {
    return write_short(kind, imm, no_header(), bytes, size);
  }
  static bool is_short(size_t size) { return size <= cache_line_size; }

  // The same of a next_put_imm of up to max_next_put_size bytes, with its offset.
  [[gnu::always_inline]] bool write_next_put(uint32_t imm, uint64_t offset, const void* bytes,
                                             size_t size) {
    return write_short(ring_message_kind::next_put_imm, imm, no_header(), bytes, size,
                       offset << next_put_size_bits);
  }

  // The same with a header, of words, before the bytes, with which it is short. `above`: bits of the
  // word above the size.
  template <class Header>
  [[gnu::always_inline]] bool write_short(ring_message_kind kind, uint32_t imm,
                                          const Header& header, const void* bytes, size_t size,
                                          uint64_t above = 0) {
    constexpr size_t header_size = std::is_empty_v<Header> ? 0 : sizeof(Header);
    static_assert(header_size % sizeof(uint64_t) == 0 && header_size < cache_line_size);
    const size_t whole = header_size + size;
    const uint64_t end = written_ + span_of(whole);
    if (__builtin_expect(end >= wiped_, 0)) return false;
    cell_type* const first = &cells_[written_ & mask_];
    written_ = end;
    if constexpr (std::is_same_v<Atomics, ds::std_atomics>) {
      unsigned char* const to = bytes_of(first);
      if constexpr (header_size > 0) std::memcpy(to, &header, header_size);
      base::copy_short(to + header_size, bytes, size);
    } else {
      if constexpr (header_size > 0) copy_in(first, 0, &header, header_size);
      copy_in(first, header_size, bytes, size);
    }
    publish(first, kind, imm, whole | above);
    return true;
  }

  // Whether a message of `size` bytes could be written now.
  bool has_room(size_t size) {
    const uint64_t span = span_of(size);
    return is_free(written_ + pad_before(span) + span);
  }

  // Whether the receiver runs on a distant processor, as far as is known. Any thread.
  bool is_far() const { return receiver_->how_far.is_far(); }

  // How `size` bytes are copied to the receiver's own memory, which is mapped here. A distant
  // receiver reads them sooner if they bypass the caches. Any thread.
  base::store_kind stores_for_put(size_t size) const {
    if (size < least_put_past_caches) return base::store_kind::cached;
    receiver_->how_far.look();
    return is_far() ? base::store_kind::past_caches : base::store_kind::cached;
  }

  // Tells the receiver that nothing will follow, and that this is no failure.
  void close() { receiver_->control->closed.store(1, std::memory_order_release); }  // R4

 private:
  using clock = std::chrono::steady_clock;
  struct no_header {};
  // What this end knows of the other one; seldom needed.
  struct receiving_end {
    control_type* control = nullptr;
    distance how_far;
    store_selector selector;
    const ring_position* answers = nullptr;  // null: nothing is known of them
    uint32_t last_answer = 0;
  };

  // Cells that are wiped at a time: so many that small messages mostly find it done. It also
  // fetches the lines together which they would have to wait for one after the other.
  static constexpr uint64_t wiped_ahead = 64;

  static constexpr uint64_t cells_per_line = cache_line_size / cell_size;
  static constexpr uint64_t most_fetched = 34 * cells_per_line;  // 2 KiB, and the runtime's header

  // Messages of so many bytes bypass the caches to a distant receiver.
  static constexpr size_t least_past_caches_far = size_t{1} << 10;
  // Puts of so many bytes do: the receiver's memory may begin within a line, and the parts of lines
  // take as long as a line each.
  static constexpr size_t least_put_past_caches = size_t{2} << 10;
  // Messages of so many bytes do to a near one, if that is measured to be faster.
  static constexpr size_t least_past_caches = size_t{4} << 10;

  store_selector::choice stores_for(size_t size) {
    if (size < least_past_caches_far) return {};
    if (is_far()) return {base::store_kind::past_caches, false};
    if (size < least_past_caches) return {};
    return receiver_->selector.next(written_ / (mask_ / 8 + 1), was_answered());
  }
  static bool bypasses_caches(const store_selector::choice& chosen) {
    return chosen.stores == base::store_kind::past_caches;
  }
  // Of the word's size.
  static uint32_t timing_bits(const store_selector::choice& chosen) {
    if (__builtin_expect(!chosen.timed, 1)) return 0;
    return is_timed | (bypasses_caches(chosen) ? is_timed_past_caches : 0);
  }
  // Whether anything has come from the receiver since the last call.
  bool was_answered() {
    receiving_end& to = *receiver_;
    if (to.answers == nullptr) return false;
    const uint32_t before = to.last_answer;
    to.last_answer = to.answers->look();
    return to.last_answer != before;
  }

  // For another message of `span` cells, which is likely to follow: its lines, which the receiver
  // has had, come back while that reads the message before. A third of the latency of 2 KiB between
  // processors that are far apart. Of more lines than a processor waits for at a time the fetching
  // keeps the copy waiting: 4 KiB come with 0.6 of the bandwidth, between processors that are near.
  void fetch_ahead(uint64_t span) {
    const uint64_t end = std::min({written_ + span, room_, (written_ | mask_) + 1});
    for (uint64_t at = written_ + cells_per_line; at < end; at += cells_per_line) {
      base::fetch_to_write(&cells_[at & mask_]);
    }
  }
  // Cells to the end of the ring, if `span` of them would run over it; else 0.
  uint64_t pad_before(uint64_t span) const {
    const uint64_t to_end = mask_ + 1 - (written_ & mask_);
    return span > to_end ? to_end : 0;
  }

  // Whether cell `end` is, and thus all from written_ on.
  bool is_free(uint64_t end) {
    if (__builtin_expect(end < room_, 1)) return true;
    const uint64_t freed = read_freed();
    // The value is a peer's: one that cannot be makes no room.
    if (freed > written_ || freed + mask_ + 1 < room_) return false;
    set_room(freed);
    return end < room_;
  }

  // ring_control::freed. Shows how far away the receiver is: if it has written the word since, the
  // line comes from its processor. The receiver's measurements are in the same line.
  uint64_t read_freed() {
    const auto begin = clock::now();
    const uint64_t freed = receiver_->control->freed.load(std::memory_order_acquire);  // A2
    const auto end = clock::now();
    if (freed != room_ - mask_ - 1) receiver_->how_far.measured(end - begin);
    const auto& costs = receiver_->control->read_costs;
    receiver_->selector.read_costs(costs[0].load(std::memory_order_relaxed),
                                   costs[1].load(std::memory_order_relaxed));
    return freed;
  }

  // All cells are free except those from `freed` on that have been written.
  void set_room(uint64_t freed) {
    room_ = freed + mask_ + 1;
    // Otherwise a message that the receiver has not read would be wiped, and it would wait for
    // ever.
    if (__builtin_expect(((room_ - 1) & mask_) == (freed & mask_), 0)) fail_room(freed);
  }

  // For a message of `span` cells, whose bytes are in place: invariant 2, and then the word.
  void end_message(uint64_t span, ring_message_kind kind, uint32_t imm, size_t size) {
    const uint64_t end = written_ + span;
    if (end >= wiped_) wipe(end, span);
    publish(&cells_[written_ & mask_], kind, imm, size);
    written_ = end;
  }
  // Cell `end`, which is free, and others behind it. Not beyond the first of the next lap, so that
  // a message that ends below wiped_ is in one piece; and not many behind a large message, since
  // there is likely to be another.
  void wipe(uint64_t end, uint64_t span) {
    const uint64_t ahead = span > wiped_ahead ? 1 : std::min(wiped_ahead, mask_ / 8 + 1);
    const uint64_t next_lap = (end | mask_) + 1;
    wiped_ = std::min({end + ahead, room_, next_lap + 1});
    // Otherwise the receiver would read an old word as a message, or wait for ever.
    if (__builtin_expect(end >= wiped_, 0)) fail_wipe(end, span);
    for (uint64_t at = end; at < wiped_; ++at) {
      cells_[at & mask_].word.store(0, std::memory_order_relaxed);
    }
  }

  // Broken invariants. Out of line, so that the functions that find them are inlined.
  [[noreturn, gnu::cold, gnu::noinline]] void fail_room(uint64_t freed) const {
    base::fail_check(__FILE__, __LINE__, "the room ends before a message that may be unread",
                     base::StrCat("the last cell of the room is ", room_ - 1,
                                  ", the first unread one ", freed, ", in a ring of ", mask_ + 1));
  }
  [[noreturn, gnu::cold, gnu::noinline]] void fail_wipe(uint64_t end, uint64_t span) const {
    base::fail_check(__FILE__, __LINE__, "the cell behind a message is free",
                     base::StrCat("a message of ", span, " cells ends at ", end, " of ", room_));
  }

  static unsigned char* bytes_of(cell_type* first) {
    return reinterpret_cast<unsigned char*>(first) + word_size;
  }

  // To byte `at` of the message that begins in `first`. It runs on over the following cells.
  void copy_in(cell_type* first, size_t at, const void* from, size_t size,
               base::store_kind stores = base::store_kind::cached) {
    if constexpr (std::is_same_v<Atomics, ds::std_atomics>) {
      base::copy(stores, bytes_of(first) + at, from, size);
    } else {
      // Where atomics are larger than their values: cell by cell what the above does, with the
      // words that it runs over as the atomics that they are to the receiver, in pieces that none
      // divides.
      const auto* bytes = static_cast<const unsigned char*>(from);
      for (size_t place = word_size + at, left = size; left > 0;) {
        cell_type& into = first[place / cell_size];
        const size_t in_cell = place % cell_size;
        size_t count = 0;
        if (in_cell < word_size) {
          uint64_t word = 0;
          count = std::min(left, sizeof(word));
          std::memcpy(&word, bytes, count);
          into.word.store(word, std::memory_order_relaxed);
        } else {
          count = std::min(left, cell_size - in_cell);
          unsigned char* const to = into.bytes + (in_cell - word_size);
          Atomics::plain_write(to, count);
          std::memcpy(to, bytes, count);
        }
        bytes += count;
        place += count;
        left -= count;
      }
    }
  }

  // Makes a message whose bytes are in place the receiver's.
  static void publish(cell_type* first, ring_message_kind kind, uint32_t imm, size_t size) {
    first->word.store(make_word(kind, static_cast<uint32_t>(size), imm),
                      std::memory_order_release);  // R1
  }

  cell_type* cells_ = nullptr;
  uint64_t mask_ = 0;     // cells of the ring - 1
  uint64_t written_ = 0;  // position after the last message
  // Words from written_ to below wiped_ are 0, and all but perhaps the last in one lap.
  uint64_t wiped_ = 0;
  uint64_t room_ = 0;  // positions below are free, as far as is known
  std::unique_ptr<receiving_end> receiver_;

 public:
  // Here, so that what an owner of it uses is in one line with the above.
  ds::basic_biased_lock<Atomics> lock;
};

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_RING_WRITER_H_
