// Atomic operations on memory of other ranks.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/runtime/instance/runtime.h"
#include "lci/testing/ranks/ranks.h"

namespace lci {
namespace {

class Atomic : public rank_test {};
INSTANTIATE_TEST_SUITE_P(OneToFourRanks, Atomic, testing::ValuesIn(one_to(4)));

// Words of one rank that all ranks operate on: allocated, or the program's, as the rank is even or
// odd. Closed with the object, when all ranks have come so far.
class shared_words {
 public:
  explicit shared_words(rank_under_test& self, size_t count = 8)
      : self_(self), own_(self.rank % 2 == 0 ? 0 : count, 0) {
    const size_t bytes = count * sizeof(uint64_t);
    mr_ = own_.empty() ? alloc_mr_x(bytes).runtime(self.runtime)()
                       : register_memory_x(own_.data(), bytes).runtime(self.runtime)();
    all_ = self.exchange(mr_);
  }
  ~shared_words() {
    self_.meet();
    close();
  }
  void close() {
    if (mr_.is_empty()) return;
    if (own_.empty()) {
      free_mr_x{&mr_}.runtime(self_.runtime)();
    } else {
      deregister_memory_x{&mr_}.runtime(self_.runtime)();
    }
  }
  uint64_t* own() const { return static_cast<uint64_t*>(get_mr_address(mr_)); }
  const rmr_t& of(int rank) const { return all_[static_cast<size_t>(rank)]; }

 private:
  rank_under_test& self_;
  std::vector<uint64_t> own_;
  mr_t mr_;
  std::vector<rmr_t> all_;
};

template <class Integer>
Integer load(const uint64_t* words, size_t index) {
  return __atomic_load_n(reinterpret_cast<const Integer*>(words) + index, __ATOMIC_ACQUIRE);
}

// Every operation on an integer of the right neighbor that no other rank uses.
template <class Integer>
void operate_on_each_kind(rank_under_test& self) {
  // The bytes before and behind the integer.
  constexpr uint64_t untouched = 0xa5a5a5a5a5a5a5a5;
  shared_words words(self);
  std::fill_n(words.own(), 8, untouched);
  self.meet();
  const auto all = ~Integer{0};
  struct step {
    atomic_op_t op;
    Integer value;
    Integer result;
  };
  const step steps[] = {
      {atomic_op_t::add, Integer{5}, Integer{5}},
      {atomic_op_t::add, static_cast<Integer>(-7), static_cast<Integer>(-2)},
      {atomic_op_t::bit_and, static_cast<Integer>(all / 3), static_cast<Integer>((all / 3) & -2)},
      {atomic_op_t::bit_or, Integer{3}, static_cast<Integer>(((all / 3) & -2) | 3)},
      {atomic_op_t::swap, static_cast<Integer>(all - 15), static_cast<Integer>(all - 15)},
      {atomic_op_t::bit_xor, all, Integer{15}},
  };
  const rmr_t& remote = words.of(self.to);
  const size_t size = sizeof(Integer);
  const uintptr_t disp = 3 * size;  // of 4 bytes: the upper half of a word
  for (const bool fetches : {true, false}) {
    Integer before = 0;
    ASSERT_TRUE(self.end_of(accepted(post_fetch_atomic_x(self.to, atomic_op_t::swap, 0, &before,
                                                         size, self.sync, disp, remote)
                                         .runtime(self.runtime)))
                    .is_done());
    before = 0;
    for (const step& each : steps) {
      Integer buffer[2] = {77, 78};
      Integer& former = buffer[0];
      int context = 0;
      status_t status;
      if (fetches) {
        status = self.end_of(accepted(post_fetch_atomic_x(self.to, each.op, each.value, &former,
                                                          size, self.sync, disp, remote)
                                          .user_context(&context)
                                          .tag(6)
                                          .runtime(self.runtime)));
        EXPECT_EQ(former, before);
        EXPECT_EQ(status.buffer, &former);
      } else {
        status = self.end_of(
            accepted(post_atomic_x(self.to, each.op, each.value, size, self.sync, disp, remote)
                         .user_context(&context)
                         .tag(6)
                         .runtime(self.runtime)));
        EXPECT_EQ(status.buffer, nullptr);
      }
      EXPECT_EQ(buffer[1], 78u) << "behind the local buffer";
      EXPECT_TRUE(status.is_done());
      EXPECT_EQ(status.rank, self.to);
      EXPECT_EQ(status.size, size);
      EXPECT_EQ(status.tag, 6u);
      EXPECT_EQ(status.user_context, &context);
      before = each.result;
    }
    // One that finds another value, and one that succeeds.
    for (const Integer compare : {Integer{14}, Integer{15}}) {
      Integer former = 77;
      ASSERT_TRUE(self.end_of(accepted(post_compare_swap_x(self.to, compare, 21, &former, size,
                                                           self.sync, disp, remote)
                                           .runtime(self.runtime)))
                      .is_done());
      EXPECT_EQ(former, 15u);
    }
    // A post that waits.
    Integer former = 77;
    EXPECT_TRUE(
        post_fetch_atomic_x(self.to, atomic_op_t::add, 0, &former, size, COMP_NULL, disp, remote)
            .runtime(self.runtime)()
            .is_done());
    EXPECT_EQ(former, 21u);
    self.meet();
    EXPECT_EQ(load<Integer>(words.own(), 3), 21u);
    for (const size_t beside : {size_t{2}, size_t{4}}) {
      EXPECT_EQ(load<Integer>(words.own(), beside), static_cast<Integer>(untouched)) << beside;
    }
    self.meet();
  }
}

TEST_P(Atomic, EachKindOn64Bits) { run(ranks(), operate_on_each_kind<uint64_t>); }
TEST_P(Atomic, EachKindOn32Bits) { run(ranks(), operate_on_each_kind<uint32_t>); }

// Threads of all ranks, each by blocking posts. The owner's threads also use std::atomic.
TEST_P(Atomic, AdditionsOfManyThreadsAndOfTheOwnersProcessorSumUp) {
  run(ranks(), [](rank_under_test& self) {
    end_turns();
    const int threads = less_if_simulated(3, 2);
    const int additions = less_if_simulated(300, 10);
    shared_words words(self);
    self.meet();
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t) {
      workers.emplace_back([&, t] {
        for (int i = 0; i < additions; ++i) {
          const int to = (self.rank + t + i) % self.ranks;
          EXPECT_TRUE(post_atomic_x(to, atomic_op_t::add, 1, 8, COMP_NULL, 0, words.of(to))
                          .runtime(self.runtime)()
                          .is_done());
          uint32_t former = 0;
          EXPECT_TRUE(
              post_fetch_atomic_x(to, atomic_op_t::add, 3, &former, 4, COMP_NULL, 8, words.of(to))
                  .runtime(self.runtime)()
                  .is_done());
          __atomic_fetch_add(words.own(), uint64_t{1} << 32, __ATOMIC_RELAXED);
        }
      });
    }
    for (std::thread& worker : workers) worker.join();
    self.meet();
    // Every rank is the target equally often, if all ranks count together.
    uint64_t sums[2] = {load<uint64_t>(words.own(), 0), load<uint64_t>(words.own(), 1)};
    uint64_t totals[2] = {};
    allreduce_x(sums, totals, 2, sizeof(uint64_t), reduce_sum<uint64_t>).runtime(self.runtime)();
    const auto all = static_cast<uint64_t>(self.ranks * threads * additions);
    EXPECT_EQ(totals[0], all + (all << 32));
    EXPECT_EQ(totals[1], 3 * all);
    EXPECT_EQ(sums[0] >> 32, static_cast<uint64_t>(threads * additions));
  });
}

// A lock of two compare-and-swaps around a counter that is read and put without an atomic
// operation.
TEST_P(Atomic, ACompareAndSwapLockExcludesAllOtherThreadsAndRanks) {
  run(ranks(), [](rank_under_test& self) {
    end_turns();
    const int threads = less_if_simulated(2, 1);
    const int rounds = less_if_simulated(20, 2);
    shared_words words(self);
    self.meet();
    const rmr_t& remote = words.of(0);
    const auto take_and_release = [&](uint64_t name) {
      for (int i = 0; i < rounds; ++i) {
        uint64_t former = 0;
        do {
          // Rank 0 may operate without a message, and the holder of the lock wait for its progress.
          progress_x().runtime(self.runtime)();
          EXPECT_TRUE(post_compare_swap_x(0, 0, name, &former, 8, COMP_NULL, 0, remote)
                          .runtime(self.runtime)()
                          .is_done());
        } while (former != 0);
        uint64_t count = 0;
        EXPECT_TRUE(post_fetch_atomic_x(0, atomic_op_t::add, 0, &count, 8, COMP_NULL, 8, remote)
                        .runtime(self.runtime)()
                        .is_done());
        EXPECT_TRUE(post_atomic_x(0, atomic_op_t::swap, count + 1, 8, COMP_NULL, 8, remote)
                        .runtime(self.runtime)()
                        .is_done());
        EXPECT_TRUE(post_compare_swap_x(0, name, 0, &former, 8, COMP_NULL, 0, remote)
                        .runtime(self.runtime)()
                        .is_done());
        EXPECT_EQ(former, name) << "another thread has had the lock";
      }
    };
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t) {
      workers.emplace_back(take_and_release, static_cast<uint64_t>(self.rank * threads + t + 1));
    }
    for (std::thread& worker : workers) worker.join();
    self.meet();
    if (self.rank == 0) {
      EXPECT_EQ(load<uint64_t>(words.own(), 1),
                static_cast<uint64_t>(self.ranks * threads * rounds));
    }
  });
}

// Every value that is swapped in comes out once, or remains.
TEST_P(Atomic, ValuesThatAreSwappedInComeOutOnce) {
  run(ranks(), [](rank_under_test& self) {
    const size_t count = less_if_simulated<size_t>(500, 40);
    shared_words words(self);
    self.meet();
    // Many at a time.
    std::vector<uint64_t> former(count + 1);
    comp_t counter = alloc_counter_x().runtime(self.runtime)();
    int64_t posted = 0;
    for (size_t i = 0; i < count; ++i) {
      const uint64_t value = static_cast<uint64_t>(self.rank) * count + i + 1;
      const status_t status = accepted(
          post_fetch_atomic_x(0, atomic_op_t::swap, value, &former[i], 8, counter, 8, words.of(0))
              .runtime(self.runtime));
      if (status.is_posted()) ++posted;
    }
    while (counter_get_x(counter).runtime(self.runtime)() < posted) {
      progress_x().runtime(self.runtime)();
    }
    free_comp_x{&counter}.runtime(self.runtime)();
    self.meet();
    // Rank 0 counts the value that remains.
    if (self.rank == 0) former[count] = load<uint64_t>(words.own(), 1);
    std::vector<uint64_t> all(former.size() * static_cast<size_t>(self.ranks));
    allgather_x(former.data(), all.data(), former.size() * sizeof(uint64_t))
        .runtime(self.runtime)();
    std::multiset<uint64_t> seen(all.begin(), all.end());
    for (uint64_t value = 1; value <= count * static_cast<size_t>(self.ranks); ++value) {
      EXPECT_EQ(seen.count(value), 1u) << value;
    }
  });
}

TEST_P(Atomic, CompletionObjectsOfBothSidesAreSignaled) {
  run(ranks(), [](rank_under_test& self) {
    shared_words words(self);
    const auto largest_tag = static_cast<tag_t>(self.runtime.get_attr_max_imm_tag());
    for (const tag_t tag : {tag_t{3}, largest_tag + 1}) {
      // The target is notified after the operation.
      const status_t status = self.end_of(
          accepted(post_atomic_x(self.to, atomic_op_t::add, 1, 8, self.sync, 0, words.of(self.to))
                       .remote_comp(self.rcomp)
                       .tag(tag)
                       .runtime(self.runtime)));
      EXPECT_TRUE(status.is_done());
      const status_t arrival = self.pop();
      EXPECT_EQ(arrival.rank, self.from);
      EXPECT_EQ(arrival.tag, tag);
      EXPECT_EQ(load<uint64_t>(words.own(), 0), tag == 3 ? 1u : 2u);
      self.meet();
    }
    // A signal counts events; never `done`, so that each counts.
    comp_t signal = alloc_signal_x(4).runtime(self.runtime)();
    for (int i = 0; i < 4; ++i) {
      EXPECT_TRUE(
          accepted(post_atomic_x(self.to, atomic_op_t::add, 10, 8, signal, 0, words.of(self.to))
                       .allow_done(false)
                       .runtime(self.runtime))
              .is_posted());
    }
    signal_wait_x{signal}.runtime(self.runtime)();
    free_comp_x{&signal}.runtime(self.runtime)();
    self.meet();
    EXPECT_EQ(load<uint64_t>(words.own(), 0), 42u);
    self.meet();
    // One that may not retry, nor be posted.
    EXPECT_TRUE(post_atomic_x(self.to, atomic_op_t::add, 1, 8, self.sync, 0, words.of(self.to))
                    .allow_retry(false)
                    .allow_posted(false)
                    .runtime(self.runtime)()
                    .is_done());
    self.meet();
    EXPECT_EQ(load<uint64_t>(words.own(), 0), 43u);
  });
}

// A rank that sees the effect of an atomic operation also sees the bytes that were put before it.
TEST_P(Atomic, PutsThatWereCompleteBeforeAreVisibleWithTheNewValue) {
  run(ranks(), [](rank_under_test& self) {
    const uint64_t rounds = less_if_simulated<uint64_t>(100, 10);
    shared_words words(self);
    self.meet();
    for (uint64_t round = 1; round <= rounds; ++round) {
      const uint64_t value = round * 3;
      EXPECT_TRUE(
          self.end_of(accepted(post_put_x(self.to, &value, 8, self.sync, 8, words.of(self.to))
                                   .runtime(self.runtime)))
              .is_done());
      EXPECT_TRUE(post_atomic_x(self.to, atomic_op_t::add, 1, 8, COMP_NULL, 0, words.of(self.to))
                      .runtime(self.runtime)()
                      .is_done());
      while (load<uint64_t>(words.own(), 0) < round) progress_x().runtime(self.runtime)();
      EXPECT_EQ(words.own()[1], value);
      self.meet();
    }
  });
}

TEST_P(Atomic, WrongArgumentsAreExceptionsAndChangeNothing) {
  run(ranks(), [](rank_under_test& self) {
    shared_words words(self, 4);
    const rmr_t& remote = words.of(self.to);
    uint64_t former = 5;
    const auto add = [&](size_t size, uintptr_t disp, const rmr_t& rmr) {
      static_cast<void>(post_atomic_x(self.to, atomic_op_t::add, 1, size, COMP_NULL, disp, rmr)
                            .runtime(self.runtime)());
    };
    EXPECT_THROW(add(8, 32, remote), std::invalid_argument) << "beyond the end";
    EXPECT_THROW(add(4, 30, remote), std::invalid_argument);
    EXPECT_THROW(add(8, ~uintptr_t{0} - 7, remote), std::invalid_argument);
    EXPECT_THROW(add(8, 4, remote), std::invalid_argument) << "not aligned";
    EXPECT_THROW(add(4, 6, remote), std::invalid_argument) << "not aligned";
    EXPECT_THROW(add(0, 0, remote), std::invalid_argument);
    EXPECT_THROW(add(2, 0, remote), std::invalid_argument);
    EXPECT_THROW(add(16, 0, remote), std::invalid_argument);
    EXPECT_THROW(add(8, 0, RMR_NULL), std::invalid_argument);
    const auto fetch = [&](int rank, atomic_op_t op, void* buffer) {
      static_cast<void>(post_fetch_atomic_x(rank, op, 1, buffer, 8, COMP_NULL, 0, remote)
                            .runtime(self.runtime)());
    };
    EXPECT_THROW(fetch(self.ranks, atomic_op_t::add, &former), std::invalid_argument);
    EXPECT_THROW(fetch(-1, atomic_op_t::add, &former), std::invalid_argument);
    EXPECT_THROW(fetch(self.to, atomic_op_t::add, nullptr), std::invalid_argument);
    EXPECT_THROW(fetch(self.to, atomic_op_t::compare_swap, &former), std::invalid_argument);
    EXPECT_THROW(fetch(self.to, static_cast<atomic_op_t>(6), &former), std::invalid_argument);
    EXPECT_THROW(
        static_cast<void>(post_atomic_x(self.to, atomic_op_t::add, 1, 8, COMP_NULL, 0, remote)
                              .allow_done(false)
                              .runtime(self.runtime)()),
        std::invalid_argument);
    self.meet();
    EXPECT_EQ(std::vector<uint64_t>(words.own(), words.own() + 4), std::vector<uint64_t>(4, 0));
    EXPECT_EQ(former, 5u);
  });
}

// An exception or a status `fatal` can't say more than that an operation has failed.
TEST_P(Atomic, TheLogSaysWhyAnOperationIsRefused) {
  if (ranks() == 1) GTEST_SKIP() << "a rank refuses its own operations by an exception";
  testing::internal::CaptureStderr();
  run(ranks(), [](rank_under_test& self) {
    shared_words words(self);
    const rmr_t remote = words.of(self.to);
    self.meet();
    words.close();
    self.meet();
    const post_atomic_x add(self.to, atomic_op_t::add, 1, 8, self.sync, 0, remote);
    EXPECT_TRUE(self.end_of(accepted(post_atomic_x(add).runtime(self.runtime))).is_fatal());
    self.meet();
  });
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("refuses an atomic operation on 8 bytes at byte 0 of its memory: rmr names "
                     "memory that is closed there (deregister_memory, free_mr) or that is of "
                     "another rank or runtime"),
            std::string::npos)
      << log;
}

TEST_P(Atomic, MemoryThatIsNotOpenIsRefusedByItsOwner) {
  run(ranks(), [](rank_under_test& self) {
    shared_words words(self);
    const rmr_t remote = words.of(self.to);
    rmr_t forged = remote;
    forged.opaque_rkey ^= uint64_t{1} << 40;
    const auto add = [&](const rmr_t& rmr, comp_t comp) {
      return self.end_of(accepted(
          post_atomic_x(self.to, atomic_op_t::add, 1, 8, comp, 0, rmr).runtime(self.runtime)));
    };
    EXPECT_THROW(static_cast<void>(add(forged, COMP_NULL)), std::runtime_error);
    EXPECT_TRUE(add(remote, COMP_NULL).is_done());
    self.meet();
    EXPECT_EQ(load<uint64_t>(words.own(), 0), 1u);
    self.meet();
    words.close();
    self.meet();
    EXPECT_THROW(static_cast<void>(add(remote, COMP_NULL)), std::runtime_error) << "closed";
    if (self.to != self.rank) {
      EXPECT_EQ(add(remote, self.sync).error.errorcode, errorcode_t::fatal);
    }
    self.meet();
  });
}

}  // namespace
}  // namespace lci
