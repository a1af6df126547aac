#include "lci/net/shm/ring.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "lci/base/backoff.h"
#include "lci/testing/fail_fast/fail_fast.h"

namespace lci::net::shm {
namespace {

constexpr uint32_t shift = 8;
constexpr uint32_t cells = 1 << shift;
constexpr size_t max_size = cells / 4 * cell_size - word_size;

// Both ends of a ring in this process.
class Ring : public testing::Test {
 protected:
  Ring() : control_(new ring_control()), cells_(new cell[cells]()) {
    writer_.attach(control_.get(), cells_.get(), shift);
    reader_.attach(control_.get(), cells_.get(), shift, max_size);
  }

  bool write(const std::vector<unsigned char>& bytes, uint32_t imm = 0) {
    return writer_.write(ring_message_kind::send, imm, {nullptr, 0, bytes.data(), bytes.size()});
  }

  // Writes until the ring is full: the number of messages, or one more than it can have.
  size_t fill(const std::vector<unsigned char>& bytes) {
    size_t written = 0;
    while (written <= cells && write(bytes)) ++written;
    return written;
  }

  const std::unique_ptr<ring_control> control_;
  const std::unique_ptr<cell[]> cells_;
  ring_writer writer_;
  ring_reader reader_;
};

TEST_F(Ring, SpanCountsTheHeader) {
  EXPECT_EQ(span_of(0), 1u);
  EXPECT_EQ(span_of(8), 1u);
  EXPECT_EQ(span_of(9), 2u);
  EXPECT_EQ(span_of(24), 2u);
  EXPECT_EQ(span_of(25), 3u);
}

// Every size at every cell, over many laps, with bytes that look like words of messages.
TEST_F(Ring, OldBytesAreNeverTakenForMessages) {
  uint32_t number = 0;
  for (int lap = 0; lap < 200; ++lap) {
    for (size_t size : {0, 8, 9, 24, 25, 300, 700, 1000}) {
      std::vector<unsigned char> bytes(size);
      for (size_t i = 0; i + 4 <= size; i += 4) {
        const auto like = static_cast<uint32_t>(make_word(ring_message_kind::send, 8, 0));
        std::memcpy(&bytes[i], &like, sizeof(like));
      }
      ASSERT_TRUE(write(bytes, number));
      incoming message;
      ASSERT_EQ(reader_.next(&message), ring_reader::result::message);
      ASSERT_EQ(message.imm, number);
      ASSERT_EQ(message.size, size);
      ASSERT_TRUE(std::equal(bytes.begin(), bytes.end(), message.bytes));
      incoming none;
      ASSERT_EQ(reader_.next(&none), ring_reader::result::none);
      reader_.free(message.first_cell, message.size);
      reader_.reclaim();
      ASSERT_EQ(reader_.next(&none), ring_reader::result::none);
      ++number;
    }
  }
}

// Messages full of what could be words, of lengths that move through the ring.
TEST_F(Ring, TheLastMessageIsFollowedByNoneWhateverLiesThere) {
  for (int i = 0; i < 5000; ++i) {
    const size_t size = static_cast<size_t>(i * 37 % 900);
    std::vector<unsigned char> bytes(size);
    const auto like = static_cast<uint32_t>(make_word(ring_message_kind::send, 8, 0));
    for (size_t at = 0; at + 4 <= size; at += 4) std::memcpy(&bytes[at], &like, sizeof(like));
    ASSERT_TRUE(write(bytes, static_cast<uint32_t>(i)));
    incoming message;
    ASSERT_EQ(reader_.next(&message), ring_reader::result::message);
    ASSERT_EQ(message.imm, static_cast<uint32_t>(i));
    ASSERT_EQ(message.size, size);
    ASSERT_EQ(reader_.next(&message), ring_reader::result::none) << i;
    reader_.free(message.first_cell, size);
    reader_.reclaim();
  }
}

TEST_F(Ring, FillsUpAndContinues) {
  const std::vector<unsigned char> bytes(8, 1);
  for (int lap = 0; lap < 5; ++lap) {
    std::vector<uint32_t> taken;
    const size_t written = fill(bytes);
    ASSERT_EQ(written, cells - 1) << "one cell stays free: its word ends the messages";
    incoming message;
    while (taken.size() <= written && reader_.next(&message) == ring_reader::result::message) {
      taken.push_back(message.first_cell);
    }
    ASSERT_EQ(taken.size(), written);
    for (size_t i = taken.size(); i > 0; --i) reader_.free(taken[i - 1], bytes.size());
    reader_.reclaim();
  }
}

// Small messages one at a time and several at a time, over many laps, while another one is kept.
TEST_F(Ring, SmallMessagesGoRoundBesideOneThatIsKept) {
  struct {
    uint32_t imm;
    unsigned char bytes[ring_reader::most_small];
  } found[2];
  const auto give = [&found](size_t i, uint32_t imm, uint32_t) {
    found[i].imm = imm;
    return found[i].bytes;
  };
  incoming kept;
  for (uint32_t i = 0; i < 20 * cells; i += 3) {
    // For a sixteenth of a lap, beginning at different cells.
    if (i % 48 == 0) {
      if (i > 0) reader_.free(kept.first_cell, kept.size);
      ASSERT_TRUE(write({1, 2, 3}));
      ASSERT_EQ(reader_.next(&kept), ring_reader::result::message);
    }
    for (uint32_t k = 0; k < 3; ++k) ASSERT_TRUE(write({1, static_cast<unsigned char>(i)}, i + k));
    ASSERT_EQ(reader_.take_small(ring_message_kind::send, 1, give), 1u);
    EXPECT_EQ(found[0].imm, i);
    EXPECT_EQ(found[0].bytes[1], static_cast<unsigned char>(i));
    ASSERT_EQ(reader_.take_small(ring_message_kind::send, 2, give), 2u);
    EXPECT_EQ(found[0].imm, i + 1);
    EXPECT_EQ(found[1].imm, i + 2);
    EXPECT_EQ(reader_.take_small(ring_message_kind::send, 1, give), 0u);
    reader_.reclaim();
  }
  // Only such that come one at a time.
  reader_.free(kept.first_cell, kept.size);
  for (uint32_t i = 0; i < 5 * cells; ++i) {
    ASSERT_TRUE(write({}, i));
    ASSERT_EQ(reader_.take_small(ring_message_kind::put_done, 1, give), 0u);
    ASSERT_EQ(reader_.take_small(ring_message_kind::send, 1, give), 1u);
    EXPECT_EQ(found[0].imm, i);
    reader_.reclaim();
  }
}

// Messages of up to three cells that are read in place, over many laps, while another one is kept.
TEST_F(Ring, MessagesAreReadInPlaceBesideOneThatIsKept) {
  incoming kept;
  uint32_t in_place = 0;
  const auto read_next = [&](const std::vector<unsigned char>& expected, uint32_t expected_imm) {
    return reader_.read_of(ring_message_kind::send, 1, 40,
                           [&](uint64_t word, const unsigned char* bytes) {
                             EXPECT_EQ(imm_in(word), expected_imm);
                             ASSERT_EQ(size_in(word), expected.size());
                             EXPECT_TRUE(std::equal(expected.begin(), expected.end(), bytes));
                           });
  };
  for (uint32_t i = 0; i < 20 * cells; ++i) {
    if (i % 24 == 0) {
      if (i > 0) reader_.free(kept.first_cell, kept.size);
      ASSERT_TRUE(write({1, 2, 3}));
      while (reader_.next(&kept) != ring_reader::result::message) reader_.reclaim();
    }
    const std::vector<unsigned char> bytes(1 + i % 40, static_cast<unsigned char>(i));
    ASSERT_TRUE(write(bytes, i));
    EXPECT_FALSE(reader_.read_of(ring_message_kind::put_done, 0, 40, [](auto...) { FAIL(); }));
    EXPECT_FALSE(reader_.read_of(ring_message_kind::send, 41, 50, [](auto...) { FAIL(); }));
    if (read_next(bytes, i)) {
      ++in_place;
    } else {  // it is behind a pad
      incoming message;
      ASSERT_EQ(reader_.next(&message), ring_reader::result::message);
      EXPECT_EQ(message.imm, i);
      reader_.free(message.first_cell, message.size);
    }
    reader_.reclaim();
  }
  EXPECT_GT(in_place, 18 * cells);
  EXPECT_FALSE(reader_.read_of(ring_message_kind::send, 0, 40, [](auto...) { FAIL(); })) << "none";
}

// In both ways of reading, with each size and offsets up to the largest.
TEST_F(Ring, APutNearTheLastOneHasItsOffsetInItsWord) {
  const std::vector<unsigned char> bytes(max_next_put_size, 7);
  const auto expect_bytes = [](const unsigned char* begin, size_t size) {
    EXPECT_EQ(std::count(begin, begin + size, 7), static_cast<std::ptrdiff_t>(size));
  };
  uint32_t in_place = 0;
  for (uint32_t i = 0; i < 20 * cells; ++i) {
    const size_t size = i % (max_next_put_size + 1);
    const uint64_t offset = i % 3 == 0 ? next_put_reach - 1 - i : i;
    while (!writer_.write_next_put(i, offset, bytes.data(), size)) {
      // The end of what is wiped, or of the lap.
      ASSERT_TRUE(write({1}));
      incoming other;
      ASSERT_EQ(reader_.next(&other), ring_reader::result::message);
      reader_.free(other.first_cell, other.size);
      reader_.reclaim();
    }
    EXPECT_FALSE(reader_.read_of(ring_message_kind::send, 0, max_size, [](auto...) { FAIL(); }));
    if (i % 2 == 0) {
      ASSERT_TRUE(reader_.read_of(ring_message_kind::next_put_imm, 0, max_next_put_size,
                                  [&](uint64_t word, const unsigned char* read) {
                                    EXPECT_EQ(imm_in(word), i);
                                    EXPECT_EQ(next_put_offset_in(word), offset);
                                    ASSERT_EQ(size_in(word), size);
                                    expect_bytes(read, size);
                                  }));
      ++in_place;
    } else {
      incoming message;
      ASSERT_EQ(reader_.next(&message), ring_reader::result::message);
      EXPECT_EQ(message.kind, ring_message_kind::next_put_imm);
      EXPECT_EQ(message.imm, i);
      EXPECT_EQ(message.next_put_offset, offset);
      ASSERT_EQ(message.size, size);
      expect_bytes(message.bytes, size);
      reader_.free(message.first_cell, message.size);
    }
    reader_.reclaim();
  }
  EXPECT_EQ(in_place, 10 * cells);
}

TEST_F(Ring, ARingIsNotFullForTheLargestMessageOnceAllIsFreed) {
  const std::vector<unsigned char> largest(max_size);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(write(largest)) << i;
    incoming message;
    ASSERT_EQ(reader_.next(&message), ring_reader::result::message);
    reader_.free(message.first_cell, message.size);
    if (i % 3 == 0) {
      ASSERT_TRUE(write({1, 2, 3}));
      ASSERT_EQ(reader_.next(&message), ring_reader::result::message);
      reader_.free(message.first_cell, message.size);
    }
    reader_.reclaim();
  }
}

TEST_F(Ring, AMalformedMessageIsCorrupt) {
  const auto result_of = [this](uint32_t size, ring_message_kind kind) {
    cells_[0].word.store(make_word(kind, size, 0));
    incoming message;
    return reader_.next(&message);
  };
  for (uint32_t size :
       {max_message_size, 1u << 20, cells * uint32_t{cell_size}, uint32_t{max_size} + 1}) {
    EXPECT_EQ(result_of(size, ring_message_kind::send), ring_reader::result::corrupt) << size;
  }
  // A pad can't fill the whole ring, nor end before its end, nor run over it.
  for (uint32_t span : {cells, 1u, cells + 1}) {
    const auto size = static_cast<uint32_t>(span * cell_size - word_size);
    EXPECT_EQ(result_of(size, ring_message_kind::pad), ring_reader::result::corrupt) << size;
  }
  EXPECT_EQ(result_of(max_size, ring_message_kind::send), ring_reader::result::message);
}

TEST_F(Ring, AWildCreditMakesNoRoom) {
  const std::vector<unsigned char> bytes(8, 1);
  fill(bytes);
  for (uint64_t freed : {~uint64_t{0}, uint64_t{cells} + 1, uint64_t{1} << 40}) {
    control_->freed.store(freed);
    EXPECT_FALSE(write(bytes)) << freed;
  }
  control_->freed.store(1);
  EXPECT_TRUE(write(bytes));
  EXPECT_FALSE(write(bytes));
  control_->freed.store(0);
  EXPECT_FALSE(write(bytes)) << "credit that is taken back";
}

TEST_F(Ring, OneSenderManyFreeingThreads) {
  constexpr int readers = 4;
  constexpr uint64_t messages = 20000;
  std::mutex read_mutex;
  uint64_t next = 0;
  std::atomic<uint64_t> wrong{0};
  const fail_fast ender;  // a reader that fails leaves the writer without room
  std::vector<std::thread> threads;
  for (int t = 0; t < readers; ++t) {
    threads.emplace_back([&] {
      base::backoff backoff;
      for (;;) {
        incoming message;
        {
          const std::lock_guard<std::mutex> guard(read_mutex);
          if (next == messages) return;
          reader_.reclaim();
          if (reader_.next(&message) != ring_reader::result::message) {
            message.bytes = nullptr;
          } else {
            if (message.imm != next) {
              ADD_FAILURE() << "message " << message.imm << " where " << next << " is expected";
              return;
            }
            ++next;
          }
        }
        if (message.bytes == nullptr) {
          backoff.idle();
          continue;
        }
        backoff.reset();
        for (size_t i = 0; i < message.size; ++i) {
          if (message.bytes[i] != static_cast<unsigned char>(message.imm + i)) ++wrong;
        }
        reader_.free(message.first_cell, message.size);
      }
    });
  }
  base::backoff backoff;
  for (uint64_t m = 0; m < messages; ++m) {
    std::vector<unsigned char> bytes(m % 200);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(m + i);
    while (!write(bytes, static_cast<uint32_t>(m))) backoff.idle();
    backoff.reset();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace lci::net::shm
