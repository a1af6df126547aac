// Messages of a ring that bypass the caches, or may do.
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "lci/net/shm/ring.h"

namespace lci::net::shm {
namespace {

constexpr uint32_t shift = 14;
constexpr uint32_t cells = 1 << shift;
constexpr size_t max_size = cells / 4 * cell_size - word_size;

std::vector<unsigned char> make_bytes(uint32_t number, size_t size) {
  std::vector<unsigned char> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<unsigned char>(i * 7 + i / 256 + number);
  return bytes;
}

// Both ends of a ring in this process.
class LargeMessages : public testing::TestWithParam<distance_mode> {
 protected:
  LargeMessages() : control_(new ring_control()), cells_(new cell[cells]()) {
    writer_.attach(control_.get(), cells_.get(), shift);
    writer_.set_receiver(GetParam(), pulse_, answers_);
    reader_.attach(control_.get(), cells_.get(), shift, max_size);
  }

  // A message of `size` bytes, the first `header_size` of which are its header.
  bool write(uint32_t number, size_t header_size, size_t size) {
    const std::vector<unsigned char> bytes = make_bytes(number, size);
    return writer_.write(
        ring_message_kind::send, number,
        {bytes.data(), header_size, bytes.data() + header_size, size - header_size});
  }

  // The next message is that one. False: there is none.
  bool read(uint32_t number, size_t size) {
    incoming message;
    const ring_reader::result found = reader_.next(&message);
    if (found == ring_reader::result::none) return false;
    EXPECT_EQ(found, ring_reader::result::message);
    EXPECT_EQ(message.imm, number);
    EXPECT_EQ(message.size, size);
    const std::vector<unsigned char> expected = make_bytes(number, size);
    EXPECT_EQ(std::memcmp(message.bytes, expected.data(), size), 0) << size << " bytes";
    reader_.free(message.first_cell, message.size);
    reader_.reclaim();
    return true;
  }

  std::atomic<uint32_t> pulse_{0};
  ring_position answers_;
  const std::unique_ptr<ring_control> control_;
  const std::unique_ptr<cell[]> cells_;
  ring_writer writer_;
  ring_reader reader_;
};

TEST_P(LargeMessages, ArriveWholeWhereverTheyBegin) {
  uint32_t number = 0;
  for (const size_t header_size : {0, 32, 40}) {
    for (size_t size : {1000, 1023, 1024, 1025, 1087, 4096, 4103, 16384, 16447, 60000}) {
      for (int place = 0; place < 5; ++place, ++number) {
        ASSERT_TRUE(write(number, header_size, size + static_cast<size_t>(place)));
        ASSERT_TRUE(write(number, 0, 8));  // the next one begins elsewhere in its line
        ASSERT_TRUE(read(number, size + static_cast<size_t>(place)));
        ASSERT_TRUE(read(number, 8));
        ASSERT_FALSE(read(number, 0));
        if (number % 2 == 0) answers_.set(number + 1);
      }
    }
  }
}

TEST_P(LargeMessages, ArriveWholeInAnotherThread) {
  constexpr uint32_t count = 4000;
  const auto size_of = [](uint32_t number) { return size_t{800} + number * 37 % 20000; };
  std::thread sender([&] {
    for (uint32_t number = 0; number < count;) {
      if (write(number, 24, size_of(number))) {
        ++number;
      } else {
        std::this_thread::yield();
      }
    }
  });
  for (uint32_t number = 0; number < count;) {
    if (read(number, size_of(number))) {
      ++number;
    } else {
      std::this_thread::yield();
    }
  }
  sender.join();
}

// Both ways of a message have been timed where the sender selects, and none elsewhere.
TEST_P(LargeMessages, AreTimedWhereTheSenderSelects) {
  if (GetParam() == distance_mode::measured) GTEST_SKIP() << "the processors may be far";
  constexpr size_t size = 8000;
  const bool selects = GetParam() != distance_mode::far;
  for (uint32_t number = 0; number < 20 * cells * cell_size / size; ++number) {
    ASSERT_TRUE(write(number, 24, size));
    ASSERT_TRUE(read(number, size));
  }
  for (const auto& cost : control_->read_costs) EXPECT_EQ(cost.load() > 0, selects);
}

// The stores of timed messages, by lap of the ring.
struct timed_stores {
  uint64_t lap;
  bool past_caches;
};

// The receiver's times outweigh the sender's, however they are measured here.
TEST_P(LargeMessages, HaveTheStoresThatTheReceiverReadsFaster) {
  if (GetParam() != distance_mode::near) GTEST_SKIP() << "the sender may not select";
  constexpr size_t size = 16000;
  constexpr int laps = store_selector::most_laps;
  for (const bool past_caches : {true, false}) {
    std::vector<timed_stores> timed;
    uint32_t place = 0;
    for (uint64_t lap = 0, number = 0; lap < laps; ++number) {
      ASSERT_TRUE(write(static_cast<uint32_t>(number), 24, size));
      const uint32_t at = reader_.position().get();
      const uint32_t bits = size_in(cells_[at].word.load());
      const bool is_of_this_lap = at >= place;
      place = at;
      if (!is_of_this_lap) ++lap;
      if ((bits & is_timed) != 0) timed.push_back({lap, (bits & is_timed_past_caches) != 0});
      ASSERT_TRUE(read(static_cast<uint32_t>(number), size));
      control_->read_costs[0].store(past_caches ? 10'000'000 : 1);
      control_->read_costs[1].store(past_caches ? 1 : 10'000'000);
    }
    ASSERT_GE(timed.size(), 16u);
    // A trial of two laps, and before it a long phase; each has timed messages in its last lap.
    size_t i = timed.size() - 1;
    while (i > 0 && timed[i].lap - timed[i - 1].lap != store_selector::trial_laps) --i;
    ASSERT_GT(i, 0u);
    EXPECT_EQ(timed[i].past_caches, !past_caches);
    EXPECT_EQ(timed[i - 1].past_caches, past_caches);
  }
}

// A word of a sender that is none of ours.
TEST_P(LargeMessages, TimedOnesOfAWrongSizeAreCorrupt) {
  for (const uint32_t size : {uint32_t{0}, uint32_t{max_size + 1}, is_timed_past_caches - 1}) {
    const ring_reader::result expected = ring_reader::result::corrupt;
    cells_[0].word.store(make_word(ring_message_kind::send, is_timed | size, 0));
    incoming message;
    EXPECT_EQ(reader_.next(&message), expected) << size;
    cells_[0].word.store(make_word(ring_message_kind::send, is_timed_past_caches | size, 0));
    EXPECT_EQ(reader_.next(&message), expected) << size;
  }
  EXPECT_EQ(control_->read_costs[0].load(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Distances, LargeMessages,
                         testing::Values(distance_mode::measured, distance_mode::near,
                                         distance_mode::far));

}  // namespace
}  // namespace lci::net::shm
