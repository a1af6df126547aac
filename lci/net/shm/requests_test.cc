#include "lci/net/shm/requests.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "lci/testing/fail_fast/fail_fast.h"

namespace lci::net::shm {
namespace {

constexpr uint32_t shift = 9;  // 8 KiB
constexpr size_t cells_of_pipe = size_t{1} << shift;
constexpr size_t max_bytes = 256;
constexpr size_t max_message = max_bytes + sizeof(remote_copy_header);

// A ring in this process.
struct pipe {
  pipe() : control(new ring_control()), cells(new cell[cells_of_pipe]()) {
    writer.attach(control.get(), cells.get(), shift);
    reader.attach(control.get(), cells.get(), shift, max_message);
  }
  // Takes every message, calls `use` with it, and frees its cells.
  void drain(const std::function<void(const incoming&)>& use) {
    incoming message;
    for (size_t taken = 0; reader.next(&message) == ring_reader::result::message; ++taken) {
      if (taken == cells_of_pipe) {
        ADD_FAILURE() << "the ring has a message in every cell, and none that ends them";
        return;
      }
      use(message);
      reader.free(message.first_cell, message.size);
    }
  }

  std::unique_ptr<ring_control> control;
  std::unique_ptr<cell[]> cells;
  ring_writer writer;
  ring_reader reader;
};

// One side of a conversation between rank 0 and itself as it were: it asks `other`, which is also
// rank 0 in its own table.
struct side {
  side() : slots(new region_slot[directory_capacity]()), memory(1024) {
    regions.attach(slots.get(), 1000);
    region = regions.open(memory.data() + 256, 512).value();
  }
  op make(op_kind kind, const side& target, uint64_t offset, void* buffer, size_t size) const {
    op result;
    result.kind = kind;
    result.remote = target.regions.remote(target.region);
    result.remote_offset = offset;
    result.buffer = buffer;
    result.size = size;
    result.imm = 5;
    result.context = buffer;
    return result;
  }
  // Takes what has come through `in`; replies go to `out`. Returns the completions.
  std::vector<completion> progress(pipe& in, pipe& out) {
    std::vector<completion> result;
    table.send_owed(0, out.writer);
    in.reader.reclaim();
    in.drain([&](const incoming& message) {
      completion c;
      const auto what = table.take(0, message, out.writer, &c);
      EXPECT_NE(what, take_result::malformed);
      if (what == take_result::completed) result.push_back(c);
    });
    in.reader.reclaim();
    return result;
  }

  std::unique_ptr<region_slot[]> slots;
  std::vector<unsigned char> memory;
  region_table regions;
  local_region region;
  large_puts timed{1};
  request_table table{1, regions, max_bytes, timed};
};

class Requests : public testing::Test {
 protected:
  const fail_fast guard_;  // a side waits for the other one
  side asker_;
  side target_;
  pipe there_;
  pipe back_;
};

TEST_F(Requests, PutAndGetMoveTheBytesAndPutImmNotifies) {
  std::vector<unsigned char> bytes(max_bytes, 9);
  ASSERT_TRUE(
      asker_.table.post(asker_.make(op_kind::put, target_, 1, bytes.data(), 200), there_.writer)
          .is_posted());
  ASSERT_TRUE(
      asker_.table.post(asker_.make(op_kind::put_imm, target_, 300, bytes.data(), 3), there_.writer)
          .is_posted());
  const std::vector<completion> notifications = target_.progress(there_, back_);
  ASSERT_EQ(notifications.size(), 1u);
  EXPECT_EQ(notifications[0].kind, completion_kind::remote_put);
  EXPECT_EQ(notifications[0].imm, 5u);
  EXPECT_EQ(std::count(target_.memory.begin(), target_.memory.end(), 9), 203);
  EXPECT_EQ(target_.memory[257], 9);
  EXPECT_EQ(target_.memory[558], 9);
  EXPECT_EQ(asker_.progress(back_, there_).size(), 2u);

  std::fill(bytes.begin(), bytes.end(), static_cast<unsigned char>(0));
  ASSERT_TRUE(
      asker_.table.post(asker_.make(op_kind::get, target_, 0, bytes.data(), 250), there_.writer)
          .is_posted());
  EXPECT_TRUE(target_.progress(there_, back_).empty());
  const std::vector<completion> got = asker_.progress(back_, there_);
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].kind, completion_kind::get);
  EXPECT_EQ(got[0].context, bytes.data());
  EXPECT_FALSE(got[0].failed);
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 9), 200);
  EXPECT_TRUE(target_.table.idle());
}

// Larger than the ring, several at once, both ways.
TEST_F(Requests, StreamsContinueAsThereIsRoom) {
  constexpr size_t large = 50000;
  std::vector<unsigned char> open(3 * large, 0);
  const local_region opened = target_.regions.open(open.data(), open.size()).value();
  std::vector<unsigned char> bytes(3 * large);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 7 + i / 251);
  std::vector<unsigned char> got(3 * large, 0);
  const auto make = [&](op_kind kind, size_t part, std::vector<unsigned char>* local) {
    op made = asker_.make(kind, target_, part * large, local->data() + part * large, large);
    made.remote = target_.regions.remote(opened);
    return made;
  };
  const auto finish = [&](size_t expected_here, size_t expected_there) {
    size_t here = 0;
    size_t there = 0;
    for (int turn = 0; turn < 10000 && (here < expected_here || there < expected_there); ++turn) {
      for (const completion& c : target_.progress(there_, back_)) {
        EXPECT_EQ(c.kind, completion_kind::remote_put);
        EXPECT_EQ(open, bytes) << "the others were posted before";
        ++there;
      }
      for (const completion& c : asker_.progress(back_, there_)) {
        EXPECT_FALSE(c.failed);
        ++here;
      }
      asker_.table.write_more(0, there_.writer);
    }
    EXPECT_EQ(here, expected_here);
    EXPECT_EQ(there, expected_there);
    EXPECT_TRUE(asker_.table.idle() && target_.table.idle());
  };
  for (size_t part = 0; part < 3; ++part) {
    const op_kind kind = part == 2 ? op_kind::put_imm : op_kind::put;
    ASSERT_TRUE(asker_.table.post(make(kind, part, &bytes), there_.writer).is_posted());
  }
  EXPECT_FALSE(asker_.table.idle());
  finish(3, 1);
  EXPECT_EQ(open, bytes);
  for (size_t part = 0; part < 3; ++part) {
    ASSERT_TRUE(asker_.table.post(make(op_kind::get, part, &got), there_.writer).is_posted());
  }
  finish(3, 0);
  EXPECT_EQ(got, bytes);
}

// A reply before the last piece was written would end an operation that still reads its buffer.
TEST_F(Requests, AReplyToAPutThatIsUnderWayIsMalformed) {
  std::vector<unsigned char> bytes(50000, 9);
  const local_region opened = target_.regions.open(bytes.data(), bytes.size()).value();
  op put = asker_.make(op_kind::put, target_, 0, bytes.data(), bytes.size());
  put.remote = target_.regions.remote(opened);
  ASSERT_TRUE(asker_.table.post(put, there_.writer).is_posted());
  for (const uint32_t flag : {0u, 1u}) {
    remote_copy_header header{0, flag, 0, 0, 0, 0};
    incoming early;
    early.kind = ring_message_kind::reply;
    early.imm = 0;
    early.size = sizeof(header);
    early.bytes = reinterpret_cast<unsigned char*>(&header);
    early.first_cell = 0;
    completion out;
    EXPECT_EQ(asker_.table.take(0, early, there_.writer, &out), take_result::malformed);
  }
}

TEST_F(Requests, MemoryThatWasClosedMeanwhileFailsTheOperation) {
  std::vector<unsigned char> bytes(8, 9);
  for (op_kind kind : {op_kind::put, op_kind::put_imm, op_kind::get}) {
    const op asked = asker_.make(kind, target_, 0, bytes.data(), bytes.size());
    ASSERT_TRUE(asker_.table.post(asked, there_.writer).is_posted());
    target_.regions.close(target_.region);
    EXPECT_TRUE(target_.progress(there_, back_).empty())
        << "not notified of a put that did not happen";
    const std::vector<completion> finished = asker_.progress(back_, there_);
    ASSERT_EQ(finished.size(), 1u);
    EXPECT_TRUE(finished[0].failed);
    target_.region = target_.regions.open(target_.memory.data() + 256, 512).value();
  }
  EXPECT_EQ(std::count(target_.memory.begin(), target_.memory.end(), 0), 1024);
}

// Both fill their rings with requests before either reads one.
TEST_F(Requests, TwoFullRingsDoNotWaitForEachOther) {
  std::vector<unsigned char> bytes(max_bytes, 1);
  const auto fill = [&](side& from, const side& to, pipe& through) {
    int posted = 0;
    for (;; ++posted) {
      const op_kind kind = posted % 2 == 0 ? op_kind::get : op_kind::put;
      const error_t result =
          from.table.post(from.make(kind, to, 0, bytes.data(), bytes.size()), through.writer);
      if (result.is_retry()) return posted;
      EXPECT_TRUE(result.is_posted());
    }
  };
  for (int round = 0; round < 50; ++round) {
    size_t open = static_cast<size_t>(fill(asker_, target_, there_)) +
                  static_cast<size_t>(fill(target_, asker_, back_));
    EXPECT_GT(open, 8u);
    for (int turn = 0; open > 0 && turn < 1000; ++turn) {
      open -= target_.progress(there_, back_).size();
      open -= asker_.progress(back_, there_).size();
    }
    ASSERT_EQ(open, 0u);
    EXPECT_TRUE(asker_.table.idle() && target_.table.idle());
  }
}

TEST_F(Requests, GivingUpEndsEveryOpenRequestOnce) {
  std::vector<unsigned char> bytes(8);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(
        asker_.table.post(asker_.make(op_kind::get, target_, 0, bytes.data(), 8), there_.writer)
            .is_posted());
  }
  completion out;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(asker_.table.give_up(0, &out));
    EXPECT_TRUE(out.failed);
    EXPECT_EQ(out.context, bytes.data());
  }
  EXPECT_FALSE(asker_.table.give_up(0, &out));
}

// A peer may write anything. Memory that is not open stays untouched, and nothing is read or
// completed that is not there (the address sanitizer watches).
TEST_F(Requests, WhateverAPeerWritesOnlyOpenMemoryChanges) {
  std::mt19937_64 random(20240601);
  std::vector<unsigned char> bytes(8, 3);
  ASSERT_TRUE(
      asker_.table
          .post(asker_.make(op_kind::get, target_, 0, bytes.data(), bytes.size()), there_.writer)
          .is_posted());
  const remote_region open = target_.regions.remote(target_.region);
  int malformed = 0;
  int completed = 0;
  for (int i = 0; i < 200000; ++i) {
    const auto pick = [&random](std::initializer_list<uint64_t> from) {
      return from.begin()[random() % from.size()];
    };
    remote_copy_header header;
    header.operation = static_cast<uint32_t>(pick({0, 1, 31, 32, 0xffffffff, random()}));
    header.flag = static_cast<uint32_t>(pick({0, 1, 2, 3, random()}));
    header.base = pick({open.base, open.base, open.base + 1, directory_capacity, random()});
    header.key = pick({open.key, open.key, 0, open.key + 1, random()});
    header.offset = pick({0, 1, 511, 512, 513, ~uint64_t{0}, random()});
    header.size = pick({0, 1, 8, max_bytes, max_bytes + 1, 512, ~uint64_t{0}, random()});
    // Exactly as large as what came, so that reading beyond it shows.
    const size_t size = pick({0, 1, sizeof(header) - 1, sizeof(header), sizeof(header) + 1,
                              sizeof(header) + 8, max_message});
    const std::unique_ptr<unsigned char[]> content(new unsigned char[size]);
    std::fill_n(content.get(), size, static_cast<unsigned char>(7));
    std::memcpy(content.get(), &header, std::min(size, sizeof(header)));
    incoming message;
    message.kind = static_cast<ring_message_kind>(pick(
        {uint64_t(ring_message_kind::put_request), uint64_t(ring_message_kind::put_imm_request),
         uint64_t(ring_message_kind::get_request), uint64_t(ring_message_kind::reply)}));
    message.imm = 0;
    message.size = static_cast<uint32_t>(size);
    message.bytes = content.get();
    message.first_cell = 0;
    side& to = i % 2 == 0 ? target_ : asker_;
    completion out;
    const auto result = to.table.take(0, message, back_.writer, &out);
    if (result == take_result::malformed) ++malformed;
    if (result == take_result::completed && out.kind == completion_kind::get) ++completed;
    // Make room for further replies.
    back_.reader.reclaim();
    back_.drain([](const incoming&) {});
    back_.reader.reclaim();
  }
  EXPECT_GT(malformed, 1000);
  EXPECT_EQ(completed, 1) << "the one request that is open";
  for (const side* touched : {&asker_, &target_}) {
    EXPECT_TRUE(std::all_of(touched->memory.begin(), touched->memory.begin() + 256,
                            [](unsigned char c) { return c == 0; }));
    EXPECT_TRUE(std::all_of(touched->memory.begin() + 768, touched->memory.end(),
                            [](unsigned char c) { return c == 0; }));
  }
}

}  // namespace
}  // namespace lci::net::shm
