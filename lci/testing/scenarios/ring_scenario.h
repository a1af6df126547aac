// A ring's two ends as threads of the schedule explorer (lci/testing/explorer).
#ifndef LCI_TESTING_SCENARIOS_RING_SCENARIO_H_
#define LCI_TESTING_SCENARIOS_RING_SCENARIO_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lci/base/strings.h"
#include "lci/net/shm/ring_reader.h"
#include "lci/net/shm/ring_writer.h"
#include "lci/testing/explorer/explore.h"
#include "lci/testing/explorer/scheduled_atomics.h"

namespace lci::net::shm {

// Thread 0 sends messages of these sizes, thread 1 takes them out, and thread 2 reads their bytes
// and frees them, as the thread does to which a message was given; some that are small thread 1
// takes with their bytes, and another one it reads in place. The bytes that lie over words of cells
// are those of messages of the next lap that nobody sent.
template <template <class> class Writer, template <class> class Reader>
class ring_scenario : public ds::explorer::scenario {
 public:
  // The sender is killed after `sender_steps` steps.
  explicit ring_scenario(std::vector<size_t> sizes, size_t sender_steps = SIZE_MAX)
      : sizes_(std::move(sizes)),
        sender_steps_(sender_steps),
        cells_(new basic_cell<atomics>[size_t{1} << shift]()),
        published_(new atomics::atomic<uint64_t>[sizes_.size()]()) {
    writer_.attach(&control_, cells_.get(), shift);
    reader_.attach(&control_, cells_.get(), shift, max_size);
  }

  size_t threads() const override { return 3; }
  void run(size_t number) override {
    if (number == 0) send();
    if (number == 1) receive();
    if (number == 2) read();
  }
  std::string finish() override {
    if (!wrong_.empty() || sender_steps_ != SIZE_MAX) return wrong_;
    return read_ == sizes_.size() ? "" : base::StrCat(read_, " messages of ", sizes_.size());
  }

 private:
  using atomics = ds::explorer::scheduled_atomics;
  static constexpr uint32_t shift = 3;  // cells: 8, so that messages have up to 2
  static constexpr uint32_t max_size = 2 * cell_size - word_size;
  // Looks in vain until the receiver takes a sender that may be killed for dead.
  static constexpr int most_looks = 4;
  // The message that the receiver reads in place.
  static constexpr size_t read_by_receiver = 5;

  static unsigned char byte_of(size_t message, size_t at) {
    const size_t in_cell = (word_size + at) % cell_size;
    if (in_cell >= word_size) return static_cast<unsigned char>(16 * message + at);
    const uint64_t word = make_word(ring_message_kind::send, 8, 0);
    return static_cast<unsigned char>(word >> 8 * in_cell);
  }

  void send() {
    if (sender_steps_ != SIZE_MAX) ds::explorer::scheduler::active()->stop_after(sender_steps_);
    for (size_t m = 0; m < sizes_.size(); ++m) {
      sending_.resize(sizes_[m]);
      for (size_t at = 0; at < sending_.size(); ++at) sending_[at] = byte_of(m, at);
      const iovec message{nullptr, 0, sending_.data(), sending_.size()};
      const auto imm = static_cast<uint32_t>(m);
      if (writer_.is_short(message.size) &&
          writer_.write_short(ring_message_kind::send, imm, message.bytes, message.size)) {
        continue;
      }
      while (!writer_.write(ring_message_kind::send, imm, message)) atomics::pause();
    }
  }

  void receive() {
    size_t m = 0;
    for (int looks = 0; m < sizes_.size() && !gave_up(looks);) {
      reader_.reclaim();
      incoming found;
      if (const size_t small = m % 4 >= 2 ? take_small(m) : 0; small > 0) {
        looks = 0;
        m += small;
        continue;
      }
      if (m == read_by_receiver && read_in_place(m)) {
        looks = 0;
        ++m;
        continue;
      }
      const bool matched =
          m % 2 == 0 && reader_.next_of(ring_message_kind::send, 0, max_size, &found);
      const auto result = matched ? Reader<atomics>::result::message : reader_.next(&found);
      if (result == Reader<atomics>::result::none) {
        ++looks;
        atomics::pause();
        continue;
      }
      looks = 0;
      if (result == Reader<atomics>::result::corrupt || found.kind != ring_message_kind::send ||
          found.imm != m || found.size != sizes_[m]) {
        wrong_ = base::StrCat("message ", m, " came as number ", found.imm, " of ", found.size,
                              " bytes");
        break;
      }
      published_[m++].store(uint64_t{found.first_cell} + 1, std::memory_order_release);
    }
    published_count_.store(m + 1, std::memory_order_release);
  }

  // Message m and the next, if they are there and small: their bytes come with them, and there is
  // nothing to free. How many.
  size_t take_small(size_t m) {
    struct {
      uint32_t imm;
      uint32_t size;
      unsigned char bytes[Reader<atomics>::most_small];
    } found[2];
    const size_t taken = reader_.take_small(ring_message_kind::send, std::min<size_t>(2, 4 - m % 4),
                                            [&found](size_t i, uint32_t imm, uint32_t size) {
                                              found[i].imm = imm;
                                              found[i].size = size;
                                              return found[i].bytes;
                                            });
    for (size_t i = 0; i < taken; ++i) {
      bool sound = m + i < sizes_.size() && found[i].imm == m + i && found[i].size == sizes_[m + i];
      for (size_t at = 0; sound && at < found[i].size; ++at) {
        sound = found[i].bytes[at] == byte_of(m + i, at);
      }
      if (!sound) {
        wrong_ = base::StrCat("message ", m + i, " came small, as number ", found[i].imm);
        return taken;
      }
      published_[m + i].store(came_read, std::memory_order_release);
    }
    return taken;
  }

  // Message m, if it is there and not behind a pad.
  bool read_in_place(size_t m) {
    const bool is_read = reader_.read_of(
        ring_message_kind::send, 0, max_size, [&](uint64_t word, const unsigned char* bytes) {
          if (imm_in(word) != m || size_in(word) != sizes_[m]) {
            wrong_ = base::StrCat("message ", m, " came as ", imm_in(word));
          }
          check(m, static_cast<size_t>(bytes - cells_[0].bytes) / sizeof(cells_[0]));
        });
    if (is_read) published_[m].store(came_read, std::memory_order_release);
    return is_read;
  }

  bool gave_up(int looks) const { return sender_steps_ != SIZE_MAX && looks >= most_looks; }

  void read() {
    for (size_t m = 0; m < sizes_.size(); ++m) {
      uint64_t found = 0;
      while ((found = published_[m].load(std::memory_order_acquire)) == 0) {
        const uint64_t last = published_count_.load(std::memory_order_acquire);
        if (last != 0 && m + 1 >= last) return;
        atomics::pause();
      }
      ++read_;
      if (found == came_read) continue;
      const auto first_cell = static_cast<uint32_t>(found - 1);
      check(m, first_cell);
      reader_.free(first_cell, sizes_[m]);
    }
  }

  void check(size_t m, size_t first) {
    for (size_t at = 0; at < sizes_[m]; ++at) {
      const size_t place = word_size + at;
      const size_t in_cell = place % cell_size;
      if (in_cell < word_size) continue;  // not kept apart here
      const unsigned char* byte = &cells_[first + place / cell_size].bytes[in_cell - word_size];
      if (at % 8 == 0) atomics::plain_read(byte, 1);
      if (*byte != byte_of(m, at)) wrong_ = base::StrCat("byte ", at, " of message ", m);
    }
  }

  const std::vector<size_t> sizes_;
  const size_t sender_steps_;
  basic_ring_control<atomics> control_;
  const std::unique_ptr<basic_cell<atomics>[]> cells_;
  static constexpr uint64_t came_read = UINT64_MAX;
  // The cell of each message, plus one, once it was found; how many were, plus one, at the end.
  const std::unique_ptr<atomics::atomic<uint64_t>[]> published_;
  atomics::atomic<uint64_t> published_count_{0};
  Writer<atomics> writer_;
  Reader<atomics> reader_;
  std::vector<unsigned char> sending_;  // not on the stack of a thread that may be killed
  size_t read_ = 0;
  std::string wrong_;
};

}  // namespace lci::net::shm

#endif  // LCI_TESTING_SCENARIOS_RING_SCENARIO_H_
