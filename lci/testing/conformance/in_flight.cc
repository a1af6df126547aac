// Tests of operations that are in flight to a rank that fails or ends its device.
#include <signal.h>

#include <algorithm>
#include <vector>

#include "lci/testing/conformance/operations.h"
#include "lci/testing/conformance/suite.h"

namespace lci::net::conformance {
namespace {

// Operations of one rank to one other rank, of which each is complete once.
class operations_in_flight {
 public:
  // Collective: every rank opens memory.
  explicit operations_in_flight(rank_under_test& self)
      : self_(self),
        exposed_(room * static_cast<size_t>(self.ranks)),
        local_(2 * room),
        ends_(most) {
    const auto opened = self.network.register_memory(exposed_.data(), exposed_.size());
    const auto buffer = self.network.register_memory(local_.data(), local_.size());
    EXPECT_TRUE(opened.ok() && buffer.ok());
    opened_ = *opened;
    buffer_ = *buffer;
    keys_ = self.exchange(self.network.remote_key(opened_));
  }
  ~operations_in_flight() {
    self_.network.deregister_memory(opened_);
    self_.network.deregister_memory(buffer_);
  }

  // Posts operations of every kind until the device refuses more, without a poll.
  void post_to(int rank) {
    size_t refused = 0;
    for (size_t i = 0; i < most && refused < 100; ++i) {
      const error_t result = self_.dev.post(make(rank, i));
      ASSERT_FALSE(result.errorcode == errorcode_t::fatal);
      refused = result.is_retry() ? refused + 1 : 0;
      posted_ += result.is_posted() ? 1 : 0;
    }
  }
  void see(const completion& c) {
    ASSERT_NE(c.context, nullptr);
    EXPECT_EQ(++*static_cast<int*>(c.context), 1) << "completions of one operation";
    ++ended_;
  }
  bool have_ended() const { return ended_ == posted_; }

 private:
  static constexpr size_t most = 2000;
  static constexpr size_t room = 100000;

  op make(int rank, size_t number) {
    const device_limits& limits = self_.dev.limits(rank);
    op made;
    made.kind = static_cast<op_kind>(number % 4);
    if (made.kind == op_kind::put_imm && !limits.has_put_imm) made.kind = op_kind::put;
    made.network_semantic = made.kind == op_kind::send && number / 8 % 2 == 1;
    made.rank = rank;
    made.size = number / 4 % 2 == 0 ? 8 : room;
    made.size = std::min(made.size, made.kind == op_kind::send ? limits.max_send : limits.max_rma);
    made.buffer = local_.data() + (made.kind == op_kind::get ? room : 0);
    made.local = buffer_;
    made.remote = keys_[static_cast<size_t>(rank)];
    made.remote_offset = room * static_cast<size_t>(self_.rank);
    made.context = &ends_[number];
    return made;
  }

  rank_under_test& self_;
  std::vector<unsigned char> exposed_;  // a part for each rank
  std::vector<unsigned char> local_;    // what is sent and put, then what is got
  std::vector<int> ends_;               // by operation: how many completions it had
  local_region opened_;
  local_region buffer_;
  std::vector<remote_region> keys_;
  size_t posted_ = 0;
  size_t ended_ = 0;
};

TEST_P(Conformance, OperationsInFlightToALostRankEndOnce) {
  const int ranks = GetParam().ranks;
  if (!GetParam().processes || ranks < 2)
    GTEST_SKIP() << "a rank that is lost has to be a process, of several";
  run_processes(1, [ranks](rank_under_test& self) {
    const int victim = ranks - 1;
    operations_in_flight operations(self);
    self.connect();
    if (self.rank != victim) operations.post_to(victim);
    self.barrier();
    if (self.rank == victim) raise(SIGKILL);
    int reports = 0;
    self.poll_until([&] { return reports == 1 && operations.have_ended(); },
                    [&](const completion& c) {
                      if (c.kind != completion_kind::peer_failed) return operations.see(c);
                      EXPECT_EQ(c.rank, victim);
                      ++reports;
                    });
  });
}

TEST_P(Conformance, OperationsInFlightToARankThatEndsItsDeviceEndOnce) {
  const int ranks = GetParam().ranks;
  if (ranks < 2) GTEST_SKIP() << "a rank whose device ends is another one";
  if (GetParam().uses_memory_late) GTEST_SKIP() << "failed operations may still use memory";
  run([ranks](rank_under_test& self) {
    const int leaver = ranks - 1;
    device_config config;
    config.uid = 1;
    config.attr = GetParam().device;
    auto second = self.network.make_device(config);
    ASSERT_TRUE(second.ok()) << second.status();
    rank_under_test other{self.rank, self.ranks, self.boot, self.network, **second, 4000, 4000};
    other.connect();
    operations_in_flight operations(other);
    if (self.rank != leaver) operations.post_to(leaver);
    other.barrier();
    if (self.rank == leaver) {
      second->reset();
      other.barrier();
      return;
    }
    const auto see = [&](const completion& c) { operations.see(c); };
    other.poll_until([&] { return operations.have_ended(); }, see);
    // The last rank may need polls to end its device.
    other.polling_barrier(ignore);
  });
}

}  // namespace
}  // namespace lci::net::conformance
