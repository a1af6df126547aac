#include "lci/net/shm/cooperative_copy.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "lci/base/backoff.h"
#include "lci/testing/fail_fast/fail_fast.h"

namespace lci::net::shm {
namespace {

constexpr uint32_t shift = 8;
constexpr size_t capacity = size_t{1} << 20;

// A requester and its target, each rank 0 to the other, with the ring between them.
class CooperativeCopy : public testing::Test {
 protected:
  CooperativeCopy()
      : control_(new ring_control()),
        cells_(new cell[size_t{1} << shift]()),
        slots_(new cooperative_slot[cooperative_slots]()),
        directory_(new region_slot[directory_capacity]()),
        source_(capacity),
        memory_(capacity),
        requester_(
            1, regions_,
            [this](int, copy_direction direction, void* local, uint64_t remote, size_t size) {
              if (before_copy_) before_copy_();
              pieces_of_requester_.fetch_add(1);
              return copy(direction, local, remote, size);
            },
            timed_),
        target_(
            1, regions_,
            [this](int, copy_direction direction, void* local, uint64_t remote, size_t size) {
              pieces_of_target_.fetch_add(1);
              return copy(direction, local, remote, size);
            },
            timed_) {
    writer_.attach(control_.get(), cells_.get(), shift);
    reader_.attach(control_.get(), cells_.get(), shift, sizeof(cooperative_header));
    requester_.attach(0, slots_.get(), nullptr);
    target_.attach(0, nullptr, slots_.get());
    regions_.attach(directory_.get(), 1000);
    region_ = regions_.open(memory_.data(), capacity).value();
    for (size_t i = 0; i < capacity; ++i) source_[i] = static_cast<unsigned char>(i * 7 + i / 256);
  }

  bool copy(copy_direction direction, void* local, uint64_t remote, size_t size) const {
    copy_within(direction, local, remote, size);
    return !broken_;
  }

  error_t put(size_t offset, size_t size, op_kind kind = op_kind::put_imm) {
    op operation;
    operation.kind = kind;
    operation.rank = 0;
    operation.imm = static_cast<net_imm_data_t>(size);
    operation.buffer = source_.data() + offset;
    operation.size = size;
    operation.remote = regions_.remote(region_);
    operation.remote_offset = offset;
    operation.context = source_.data() + offset;
    return requester_.put(operation, reinterpret_cast<uintptr_t>(memory_.data()) + offset, writer_,
                          large_puts::now());
  }

  // The target takes one message; false if there is none.
  bool poll(std::vector<completion>* notifications) {
    incoming message;
    reader_.reclaim();
    if (reader_.next(&message) != ring_reader::result::message) return false;
    completion out;
    if (message.kind == ring_message_kind::cooperative_put) {
      EXPECT_EQ(target_.take(0, message), take_result::nothing);
    } else {
      EXPECT_EQ(message.kind, ring_message_kind::cooperative_done);
      const take_result result = target_.take_done(0, message, &out);
      EXPECT_NE(result, take_result::malformed);
      if (result == take_result::completed) notifications->push_back(out);
    }
    reader_.free(message.first_cell, message.size);
    return true;
  }
  std::vector<completion> poll_all() {
    std::vector<completion> notifications;
    while (poll(&notifications)) {
    }
    return notifications;
  }
  bool is_there(size_t offset, size_t size) const {
    return std::memcmp(source_.data() + offset, memory_.data() + offset, size) == 0;
  }

  const fail_fast guard_;  // a side waits for the other one
  const std::unique_ptr<ring_control> control_;
  const std::unique_ptr<cell[]> cells_;
  const std::unique_ptr<cooperative_slot[]> slots_;
  const std::unique_ptr<region_slot[]> directory_;
  std::vector<unsigned char> source_;
  std::vector<unsigned char> memory_;
  region_table regions_;
  local_region region_;
  ring_writer writer_;
  ring_reader reader_;
  bool broken_ = false;
  std::function<void()> before_copy_;
  std::atomic<int> pieces_of_requester_{0};
  std::atomic<int> pieces_of_target_{0};
  large_puts timed_{1};
  cooperative_copies requester_;
  cooperative_copies target_;
};

TEST_F(CooperativeCopy, ABusyTargetLeavesAllPiecesToTheRequester) {
  EXPECT_TRUE(put(100, 300000).is_done());
  EXPECT_TRUE(is_there(100, 300000));
  const std::vector<completion> notifications = poll_all();
  ASSERT_EQ(notifications.size(), 1u);
  EXPECT_EQ(notifications[0].kind, completion_kind::remote_put);
  EXPECT_EQ(notifications[0].imm, 300000u);
  EXPECT_EQ(pieces_of_target_, 0);
  completion out;
  EXPECT_FALSE(requester_.finish(0, &out)) << "it was done at once";
  EXPECT_TRUE(requester_.idle());
}

TEST_F(CooperativeCopy, APollingTargetTakesTheRemainingPieces) {
  std::vector<completion> notifications;
  before_copy_ = [&] { poll(&notifications); };
  EXPECT_TRUE(put(0, capacity).is_posted());
  EXPECT_TRUE(is_there(0, capacity));
  EXPECT_EQ(pieces_of_requester_, 1);
  EXPECT_EQ(pieces_of_target_, 7);
  EXPECT_TRUE(notifications.empty()) << "before the requester's piece was there";
  EXPECT_EQ(poll_all().size(), 1u);
  completion out;
  ASSERT_TRUE(requester_.finish(0, &out));
  EXPECT_EQ(out.kind, completion_kind::put);
  EXPECT_EQ(out.context, source_.data());
  EXPECT_FALSE(out.failed);
  EXPECT_TRUE(requester_.idle());
  EXPECT_FALSE(requester_.finish(0, &out));
}

TEST_F(CooperativeCopy, APutWithoutImmediateDataDoesNotNotify) {
  EXPECT_TRUE(put(0, 100000, op_kind::put).is_done());
  EXPECT_TRUE(poll_all().empty());
  EXPECT_TRUE(is_there(0, 100000));
}

TEST_F(CooperativeCopy, APutToMemoryClosedMeanwhileDoesNotNotify) {
  std::vector<completion> notifications;
  before_copy_ = [&] {
    before_copy_ = nullptr;
    regions_.close(region_);
    poll(&notifications);
  };
  EXPECT_TRUE(put(0, capacity).is_done()) << "the target helps no more";
  EXPECT_TRUE(poll_all().empty());
  EXPECT_TRUE(notifications.empty());
}

TEST_F(CooperativeCopy, AFailedCopyOfTheTargetFailsThePut) {
  std::vector<completion> notifications;
  before_copy_ = [&] {
    broken_ = true;
    poll(&notifications);
    broken_ = false;
  };
  EXPECT_TRUE(put(0, capacity).is_posted());
  EXPECT_TRUE(poll_all().empty());
  EXPECT_TRUE(notifications.empty());
  completion out;
  ASSERT_TRUE(requester_.finish(0, &out));
  EXPECT_TRUE(out.failed);
}

TEST_F(CooperativeCopy, AFailedCopyOfTheRequesterIsFatalAndDoesNotNotify) {
  broken_ = true;
  EXPECT_EQ(put(0, 100000).errorcode, errorcode_t::fatal);
  broken_ = false;
  EXPECT_TRUE(poll_all().empty());
  completion out;
  EXPECT_FALSE(requester_.finish(0, &out));
  EXPECT_TRUE(requester_.idle());
}

TEST_F(CooperativeCopy, SlotsAreUsedAgainOnlyOnceTheTargetHasSeenThem) {
  for (uint32_t i = 0; i < cooperative_slots; ++i) EXPECT_TRUE(put(0, 40000).is_done()) << i;
  EXPECT_TRUE(put(0, 40000).is_retry());
  std::vector<completion> notifications;
  ASSERT_TRUE(poll(&notifications));
  EXPECT_TRUE(put(0, 40000).is_done());
  EXPECT_TRUE(put(0, 40000).is_retry());
  EXPECT_EQ(poll_all().size(), cooperative_slots + 1);
  completion out;
  EXPECT_FALSE(requester_.finish(0, &out));
  EXPECT_TRUE(requester_.idle());
}

TEST_F(CooperativeCopy, SlotsOfPostedPutsAreKeptUntilFinish) {
  std::vector<completion> notifications;
  before_copy_ = [&] {
    while (poll(&notifications)) {
    }
  };
  for (uint32_t i = 0; i < cooperative_slots; ++i) EXPECT_TRUE(put(i, 100000).is_posted()) << i;
  EXPECT_TRUE(put(cooperative_slots, 100000).is_retry());
  EXPECT_EQ(notifications.size() + poll_all().size(), cooperative_slots);
  std::vector<void*> contexts;
  for (completion out; requester_.finish(0, &out);) contexts.push_back(out.context);
  std::sort(contexts.begin(), contexts.end());
  ASSERT_EQ(contexts.size(), cooperative_slots);
  for (uint32_t i = 0; i < cooperative_slots; ++i) EXPECT_EQ(contexts[i], source_.data() + i);
  EXPECT_TRUE(requester_.idle());
}

TEST_F(CooperativeCopy, PutsThatWaitForALostTargetAreGivenUp) {
  std::vector<completion> notifications;
  before_copy_ = [&] { poll(&notifications); };
  EXPECT_TRUE(put(0, capacity).is_posted());
  before_copy_ = nullptr;
  EXPECT_TRUE(put(0, 40000).is_done());
  slots_[0].end.store(0);  // as if it had died in its piece
  completion out;
  ASSERT_TRUE(requester_.give_up(0, &out));
  EXPECT_TRUE(out.failed);
  EXPECT_EQ(out.context, source_.data());
  EXPECT_FALSE(requester_.give_up(0, &out)) << "the other was done";
  EXPECT_TRUE(requester_.idle());
}

TEST_F(CooperativeCopy, MalformedMessagesAreRefused) {
  cooperative_header header{};
  incoming message;
  message.bytes = reinterpret_cast<unsigned char*>(&header);
  message.size = sizeof(header) - 1;
  completion out;
  EXPECT_EQ(target_.take(0, message), take_result::malformed);
  EXPECT_EQ(target_.take_done(0, message, &out), take_result::malformed);
  message.size = sizeof(header);
  header.number = cooperative_slots;
  EXPECT_EQ(target_.take(0, message), take_result::malformed);
  EXPECT_EQ(target_.take_done(0, message, &out), take_result::malformed);
}

// Sizes that no memory has, and memory that is not open: nothing is copied, and it ends.
TEST_F(CooperativeCopy, WildPutsAreNotCopied) {
  cooperative_header header{};
  header.flag = 1;
  header.key = regions_.remote(region_).key;
  header.base = regions_.remote(region_).base;
  incoming message;
  message.bytes = reinterpret_cast<unsigned char*>(&header);
  message.size = sizeof(header);
  for (const uint64_t size : {uint64_t{capacity} + 1, uint64_t{1} << 40, ~uint64_t{0}}) {
    for (const uint64_t offset : {uint64_t{capacity}, ~uint64_t{0} - 10}) {
      header.size = size;
      header.offset = offset;
      slots_[0].taken.store(0);
      slots_[0].end.store(0);
      EXPECT_EQ(target_.take(0, message), take_result::nothing);
      EXPECT_EQ(slots_[0].end.load(), cooperative_failed);
      completion out;
      EXPECT_EQ(target_.take_done(0, message, &out), take_result::nothing);
    }
  }
  EXPECT_EQ(pieces_of_target_, 0);
}

TEST_F(CooperativeCopy, BothSidesConcurrently) {
  constexpr int rounds = 300;
  std::atomic<int> notifications{0};
  std::thread target([&] {
    base::backoff backoff;
    std::vector<completion> seen;
    while (seen.size() < rounds) {
      if (!poll(&seen)) {
        backoff.idle();
        continue;
      }
      backoff.reset();
      if (static_cast<int>(seen.size()) == notifications.load()) continue;
      // Of the last one.
      const size_t size = seen.back().imm;
      EXPECT_TRUE(is_there(0, size));
      std::fill(memory_.begin(), memory_.end(), static_cast<unsigned char>(0));
      ++notifications;
    }
  });
  base::backoff backoff;
  for (int i = 0; i < rounds; ++i) {
    const size_t size = size_t{32768} + static_cast<size_t>(i) * 3331;
    const error_t result = put(0, std::min(size, capacity));
    ASSERT_FALSE(result.is_retry());
    completion out;
    while (result.is_posted() && !requester_.finish(0, &out)) backoff.idle();
    while (notifications.load() <= i) backoff.idle();
    requester_.finish(0, &out);
    backoff.reset();
  }
  target.join();
  EXPECT_EQ(pieces_of_requester_ + pieces_of_target_ > rounds, true);
}

}  // namespace
}  // namespace lci::net::shm
