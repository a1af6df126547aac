#include "lci/runtime/check/checker.h"

#include <array>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "lci/base/thread_counts.h"
#include "lci/runtime/completion/impl.h"

namespace lci::rt {
namespace {

using kind = posted_operation::kind;

class CheckerTest : public testing::Test {
 protected:
  static constexpr size_t size = 5000;

  CheckerTest() { checks_.add_device(&device_, &runtime_, 3, &polls_); }

  static checker_options reporting_to(std::vector<std::string>* list) {
    checker_options options;
    options.report = [list](const std::string& text) { list->push_back(text); };
    options.patience = std::chrono::milliseconds(1);
    return options;
  }
  posted_operation make(kind what, void* buffer, size_t bytes) {
    posted_operation made;
    made.what = what;
    made.call = "post_send";
    made.rank = 1;
    made.tag = 7;
    made.buffer = buffer;
    made.size = bytes;
    made.comp = &comp_;
    made.runtime = &runtime_;
    made.device = &device_;
    made.is_of_any_device = what == kind::receive;
    return made;
  }
  // Posts an operation that stays pending. Returns what is to be signaled.
  comp_impl_t* pend(const posted_operation& posted) {
    checker::post made(checks_, posted);
    made.answered(errorcode_t::posted);
    return made.comp();
  }
  void answer(const posted_operation& posted, errorcode_t code) {
    checker::post made(checks_, posted);
    made.answered(code);
  }
  static status_t done() { return status_t(errorcode_t::done); }
  bool is_said(const std::string& text) const {
    for (const std::string& each : said_) {
      if (each.find(text) != std::string::npos) return true;
    }
    return false;
  }

  std::vector<std::string> said_;
  int runtime_ = 0;
  int device_ = 0;
  base::thread_counts polls_;
  counter comp_{comp_attr_t()};
  std::array<char, size> bytes_{};
  checker checks_{reporting_to(&said_)};
};

TEST_F(CheckerTest, AStatusIsPassedOnAndNothingIsSaidOfOperationsWithoutAMistake) {
  const posted_operation posted = make(kind::send, bytes_.data(), size);
  for (int i = 0; i < 3; ++i) pend(posted)->signal(done());
  EXPECT_EQ(comp_.get(), 3);
  answer(posted, errorcode_t::done);
  EXPECT_EQ(comp_.get(), 3);
  // Many may read a buffer at a time.
  comp_impl_t* const first = pend(posted);
  comp_impl_t* const second = pend(posted);
  first->signal(done());
  second->signal(done());
  bytes_[0] = 1;
  polls_.add();
  checks_.report_end_of(&runtime_);
  EXPECT_EQ(checks_.mistakes(), 0U) << said_.front();
}

// With a step for each pending operation, these would take minutes.
TEST_F(CheckerTest, ManyOperationsMayBePendingOnOneObject) {
  constexpr size_t count = 150000;
  std::vector<char> buffer(count);
  std::vector<comp_impl_t*> pending;
  pending.reserve(count);
  for (char& each : buffer) pending.push_back(pend(make(kind::get, &each, 1)));
  EXPECT_NE(checks_.pending_on(comp_), "");
  for (comp_impl_t* each : pending) each->signal(done());
  EXPECT_EQ(comp_.get(), static_cast<int64_t>(count));
  EXPECT_EQ(checks_.pending_on(comp_), "");
  EXPECT_EQ(checks_.mistakes(), 0U);
}

TEST_F(CheckerTest, AChangedBufferIsNamedOnce) {
  comp_impl_t* const pending = pend(make(kind::send, bytes_.data(), size));
  bytes_[4500] = 1;
  checks_.check_before_sending(bytes_.data() + 4400, 200);
  checks_.check_before_sending(bytes_.data(), size);
  pending->signal(done());
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_TRUE(is_said("a send of 5000 bytes to rank 1 with tag 7")) << said_[0];
  EXPECT_TRUE(is_said("bytes 4096 to 4999 of its buffer have changed while it was waiting to be"))
      << said_[0];
  EXPECT_EQ(comp_.get(), 1);
}

TEST_F(CheckerTest, ABufferThatAGetOrReceiveWritesMayChange) {
  comp_impl_t* const receive = pend(make(kind::receive, bytes_.data(), 100));
  comp_impl_t* const get = pend(make(kind::get, bytes_.data() + 100, 100));
  bytes_.fill(5);
  receive->signal(done());
  get->signal(done());
  EXPECT_TRUE(said_.empty());
}

TEST_F(CheckerTest, ABufferChangedDuringAPostThatWaitsIsNamed) {
  posted_operation posted = make(kind::am, bytes_.data(), size);
  posted.comp = nullptr;
  checker::post made(checks_, posted);
  EXPECT_EQ(made.comp(), nullptr);
  bytes_[0] = 1;
  made.answered(errorcode_t::done);
  EXPECT_TRUE(is_said("have changed while it was under way in a call that waits"));
}

TEST_F(CheckerTest, OverlappingBuffersAreNamedWhereOneOfThemIsWritten) {
  comp_impl_t* const first = pend(make(kind::receive, bytes_.data(), 100));
  comp_impl_t* const second = pend(make(kind::receive, bytes_.data() + 99, 100));
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_TRUE(
      is_said("a receive of 100 bytes from rank 1 with tag 7 is posted with a buffer that "
              "overlaps that of a receive of 100 bytes"))
      << said_[0];
  comp_impl_t* const third = pend(make(kind::put, bytes_.data() + 199, 100));
  EXPECT_EQ(said_.size(), 1U);
  comp_impl_t* const fourth = pend(make(kind::get, bytes_.data() + 200, 1));
  EXPECT_EQ(said_.size(), 2U);
  comp_impl_t* const fifth = pend(make(kind::send, bytes_.data(), 1));
  EXPECT_EQ(said_.size(), 3U);
  for (comp_impl_t* each : {first, second, third, fourth, fifth}) each->signal(done());
  // All of them are over.
  pend(make(kind::receive, bytes_.data(), size))->signal(done());
  EXPECT_EQ(said_.size(), 3U);
}

TEST_F(CheckerTest, AnObjectIsInUseFromThePostToTheSignal) {
  EXPECT_EQ(checks_.pending_on(comp_), "");
  comp_impl_t* const pending = pend(make(kind::put, bytes_.data(), 8));
  EXPECT_EQ(checks_.pending_on(comp_), "a put of 8 bytes to byte 0 of memory of rank 1 is pending");
  pending->signal(done());
  EXPECT_EQ(checks_.pending_on(comp_), "");
  answer(make(kind::put, bytes_.data(), 8), errorcode_t::retry);
  EXPECT_EQ(checks_.pending_on(comp_), "");
}

TEST_F(CheckerTest, APostThatThrowsLeavesNothing) {
  try {
    const checker::post thrown(checks_, make(kind::send, bytes_.data(), 8));
    throw std::runtime_error("");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(checks_.pending_on(comp_), "");
  bytes_[0] = 1;
  checks_.report_end_of(&runtime_);
  EXPECT_TRUE(said_.empty());
}

TEST_F(CheckerTest, RetriesAreNamedUnlessTheyAreRepeated) {
  polls_.add();
  const auto of_tag = [this](tag_t tag) {
    posted_operation made = make(kind::send, bytes_.data(), 8);
    made.tag = tag;
    return made;
  };
  // Repeated, by this thread or others: a fiber may move between threads.
  for (int i = 0; i < 3; ++i) answer(of_tag(1), errorcode_t::retry_lock);
  answer(of_tag(1), errorcode_t::done);
  std::thread([&] { answer(of_tag(2), errorcode_t::retry); }).join();
  std::thread([&] { answer(of_tag(2), errorcode_t::retry); }).join();
  answer(of_tag(2), errorcode_t::retry);
  std::thread([&] { answer(of_tag(2), errorcode_t::done); }).join();
  checks_.report_end_of(&runtime_);
  EXPECT_TRUE(said_.empty());
  // Not repeated; and one with another buffer.
  answer(of_tag(3), errorcode_t::retry);
  std::thread([&] { answer(of_tag(3), errorcode_t::retry); }).join();
  posted_operation other = of_tag(3);
  other.buffer = bytes_.data() + 8;
  answer(other, errorcode_t::retry);
  int another_runtime = 0;
  checks_.report_end_of(&another_runtime);
  EXPECT_TRUE(said_.empty());
  checks_.report_end_of(&runtime_);
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_TRUE(is_said("2 posts answered retry and were not posted again")) << said_[0];
  EXPECT_TRUE(is_said("the first is a send of 8 bytes to rank 1 with tag 3")) << said_[0];
  checks_.report_end_of(&runtime_);
  EXPECT_EQ(said_.size(), 1U);
}

TEST_F(CheckerTest, OperationsOnADeviceWithoutProgressAreNamedOnce) {
  comp_impl_t* const first = pend(make(kind::send, bytes_.data(), 8));
  comp_impl_t* const second = pend(make(kind::send, bytes_.data(), 16));
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(2)) {
  }
  checks_.tick();
  checks_.tick();
  checks_.report_end_of_device(&device_);
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_TRUE(
      is_said("has posted 2 operations to device 3, and no thread has made progress on it "
              "since: a send of 8 bytes to rank 1 with tag 7"))
      << said_[0];
  first->signal(done());
  second->signal(done());
}

TEST_F(CheckerTest, ProgressOnAnyDeviceIsEnoughForAReceive) {
  int second_device = 0;
  // Not on the stack, which the address sanitizer aligns for less than it needs.
  const auto second_polls = std::make_unique<base::thread_counts>();
  checks_.add_device(&second_device, &runtime_, 4, second_polls.get());
  comp_impl_t* const send = pend(make(kind::send, bytes_.data(), 8));
  comp_impl_t* const receive = pend(make(kind::receive, bytes_.data() + 100, 8));
  second_polls->add();
  checks_.report_end_of(&runtime_);
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_TRUE(is_said("has posted 1 operation to device 3")) << said_[0];
  polls_.add();
  send->signal(done());
  receive->signal(done());
}

TEST_F(CheckerTest, TenMistakesOfAKindAreReported) {
  for (int i = 0; i < 20; ++i) {
    comp_impl_t* const pending = pend(make(kind::send, bytes_.data(), 8));
    ++bytes_[0];
    pending->signal(done());
  }
  EXPECT_EQ(said_.size(), 11U);
  EXPECT_EQ(said_.back(), "further mistakes of this kind are not reported");
  EXPECT_EQ(checks_.mistakes(), 20U);
}

// What `act` throws in another thread.
template <class Act>
std::string error_elsewhere(const Act& act) {
  std::string text;
  std::thread([&] {
    try {
      act();
    } catch (const std::logic_error& error) {
      text = error.what();
    }
  }).join();
  return text;
}

TEST_F(CheckerTest, ADeviceCannotBeFreedWhileAnotherThreadIsInsideACall) {
  const auto close = [&] {
    const checker::closing closing(checks_, &runtime_, nullptr, "free_runtime");
  };
  const auto close_device = [&] {
    const checker::closing closing(checks_, nullptr, &device_, "free_device");
  };
  {
    const checker::call call(checks_, &device_, "progress");
    EXPECT_NE(error_elsewhere(close).find("is inside progress on device 3"), std::string::npos);
    EXPECT_EQ(error_elsewhere(close).find("lci: free_runtime: thread "), 0U);
    EXPECT_NE(error_elsewhere(close_device).find("free_device: thread"), std::string::npos);
    // Of another runtime, and of this thread, such as one that frees in a handler.
    EXPECT_EQ(error_elsewhere([&] {
                const int other = 0;
                const checker::closing closing(checks_, &other, nullptr, "free_runtime");
              }),
              "");
    close();
  }
  EXPECT_EQ(error_elsewhere(close), "");
  EXPECT_EQ(error_elsewhere(close_device), "");
  // A post is such a call, until it has been answered.
  {
    checker::post made(checks_, make(kind::send, bytes_.data(), size));
    EXPECT_NE(error_elsewhere(close).find("is inside post_send"), std::string::npos);
    made.answered(errorcode_t::retry_nomem);
  }
  EXPECT_EQ(error_elsewhere(close), "");
}

TEST_F(CheckerTest, ADeviceThatIsBeingFreedCannotBeUsedByAnotherThread) {
  const auto call = [&] { const checker::call made(checks_, &device_, "progress"); };
  {
    const checker::closing closing(checks_, &runtime_, nullptr, "g_runtime_fina");
    call();
    const std::string text = error_elsewhere(call);
    EXPECT_EQ(text.find("lci: progress: thread "), 0U) << text;
    EXPECT_NE(text.find("is freeing device 3 (g_runtime_fina)"), std::string::npos) << text;
    EXPECT_EQ(error_elsewhere([&] {
                checker::note_thread_of_library();  // which runs a handler
                call();
              }),
              "");
  }
  EXPECT_EQ(error_elsewhere(call), "");
}

TEST_F(CheckerTest, OperationsOfARuntimeThatIsGoneAreForgotten) {
  static_cast<void>(pend(make(kind::receive, bytes_.data(), 8)));
  checks_.forget(&runtime_);
  EXPECT_EQ(checks_.pending_on(comp_), "");
  pend(make(kind::receive, bytes_.data(), 8))->signal(done());
  EXPECT_TRUE(said_.empty());
}

TEST_F(CheckerTest, AnUnmappedBufferIsRefused) {
  EXPECT_THROW(pend(make(kind::send, reinterpret_cast<void*>(8), 8)), std::invalid_argument);
  EXPECT_EQ(checks_.pending_on(comp_), "");
}

}  // namespace
}  // namespace lci::rt
