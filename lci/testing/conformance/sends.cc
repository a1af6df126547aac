// Tests of sends that are not injected.
#include <algorithm>
#include <vector>

#include "lci/testing/conformance/operations.h"
#include "lci/testing/conformance/suite.h"

namespace lci::net::conformance {
namespace {

// Every size once, each followed by an injected send.
std::vector<size_t> sizes_up_to(size_t most) {
  std::vector<size_t> sizes;
  for (const size_t size : {size_t{0}, size_t{1}, size_t{8}, size_t{9}, size_t{64}, size_t{65},
                            size_t{1000}, size_t{4096}, most - 1, most}) {
    if (size > most) continue;
    sizes.push_back(size);
    sizes.push_back(8);
  }
  return sizes;
}

// The bytes of a send, which belong to the device until it is complete.
struct sent_bytes {
  unsigned char* bytes;
  size_t size;
  bool complete;
};

}  // namespace

TEST_P(Conformance, SendsThatAreNotInjectedArriveInOrderWithInjectedOnes) {
  run([](rank_under_test& self) {
    size_t expected = 0;
    size_t room = 0;
    std::vector<size_t> most_to_us;  // of each rank
    for (int to = 0; to < self.ranks; ++to) {
      const size_t most = self.dev.limits(to).max_send;
      for (const size_t size : sizes_up_to(most)) room += size;
      const auto all = self.exchange(most);
      if (to == self.rank) most_to_us = all;
    }
    for (const size_t most : most_to_us) expected += sizes_up_to(most).size();
    std::vector<unsigned char> memory(room);
    const auto region = self.network.register_memory(memory.data(), room);
    ASSERT_TRUE(region.ok()) << region.status();

    std::vector<size_t> next(static_cast<size_t>(self.ranks), 0);
    size_t arrived = 0;
    size_t posted = 0;
    size_t finished = 0;
    const auto complete = [](sent_bytes& sent) {
      EXPECT_FALSE(sent.complete) << "the second completion of a send";
      sent.complete = true;
      std::fill_n(sent.bytes, sent.size, static_cast<unsigned char>(0));
    };
    const auto see = [&](const completion& c) {
      if (c.kind == completion_kind::send) {
        EXPECT_FALSE(c.failed);
        complete(*static_cast<sent_bytes*>(c.context));
        ++finished;
        return;
      }
      ASSERT_EQ(c.kind, completion_kind::recv);
      size_t& number = next[static_cast<size_t>(c.rank)];
      ASSERT_EQ(c.imm, 0xffffff00u + number);
      ASSERT_EQ(c.size, sizes_up_to(most_to_us[static_cast<size_t>(c.rank)])[number]);
      EXPECT_TRUE(has_bytes(c.bytes(), c.rank, number, c.size)) << "message " << number;
      ++number;
      ++arrived;
    };
    std::vector<sent_bytes> sends;
    sends.reserve(room);  // completions point to them
    unsigned char* bytes = memory.data();
    for (int to = 0; to < self.ranks; ++to) {
      const std::vector<size_t> sizes = sizes_up_to(self.dev.limits(to).max_send);
      for (size_t i = 0; i < sizes.size(); ++i) {
        for (size_t at = 0; at < sizes[i]; ++at) bytes[at] = pattern(self.rank, i, at);
        op send = make_send(to, bytes, sizes[i], static_cast<net_imm_data_t>(0xffffff00u + i));
        sends.push_back({bytes, sizes[i], false});
        send.inject = i % 2 == 1;
        send.local = *region;
        send.context = &sends.back();
        bytes += sizes[i];
        const error_t result = self.post(send, see);
        ASSERT_TRUE(result.is_done() || (result.is_posted() && !send.inject)) << result.get_str();
        if (result.is_done()) {
          complete(sends.back());
        } else {
          ++posted;
        }
      }
    }
    self.poll_until([&] { return arrived == expected && finished == posted; }, see);
    self.network.deregister_memory(*region);
  });
}

// Rank 0 stops polling when its sends are complete.
TEST_P(Conformance, ACompleteSendOfNetworkSemanticNeedsNoPollOfItsSender) {
  if (GetParam().ranks < 2) GTEST_SKIP() << "a message to the rank itself needs its polls";
  run([](rank_under_test& self) {
    constexpr size_t messages = 50;
    self.connect();
    std::vector<unsigned char> memory(1000);
    const auto region = self.network.register_memory(memory.data(), memory.size());
    ASSERT_TRUE(region.ok()) << region.status();
    size_t posted = 0;
    size_t finished = 0;
    size_t arrived = 0;
    std::vector<int> ends(messages * static_cast<size_t>(self.ranks));
    const auto see = [&](const completion& c) {
      if (c.kind == completion_kind::recv) {
        ++arrived;
        return;
      }
      ASSERT_EQ(c.kind, completion_kind::send);
      EXPECT_FALSE(c.failed);
      EXPECT_EQ(++*static_cast<int*>(c.context), 1) << "completions of one send";
      ++finished;
    };
    for (size_t i = 0; self.rank == 0 && i < ends.size() - messages; ++i) {
      const int to = 1 + static_cast<int>(i / messages);
      op send = make_send(to, memory.data(), i % 4 == 3 ? memory.size() : 8, 0);
      send.inject = false;
      send.network_semantic = i % 8 != 5;
      send.local = *region;
      send.context = &ends[i];
      const error_t result = self.post(send, see);
      ASSERT_TRUE(result.is_done() || result.is_posted()) << result.get_str();
      if (result.is_posted()) ++posted;
    }
    const size_t expected = self.rank == 0 ? 0 : messages;
    self.poll_until([&] { return arrived == expected && finished == posted; }, see);
    self.barrier();
    self.polling_barrier(ignore);
    self.network.deregister_memory(*region);
  });
}

}  // namespace lci::net::conformance
