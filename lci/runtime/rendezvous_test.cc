// The rendezvous protocols, and messages of more than 4 GiB.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/net/ofi/provider.h"
#include "lci/runtime/device/device.h"
#include "lci/runtime/instance/runtime.h"
#include "lci/testing/ranks/ranks.h"

namespace lci {
namespace {

// One message of each size, sent and as an active message.
void exchange_messages(rank_under_test& self, const std::vector<size_t>& sizes) {
  for (const size_t size : sizes) {
    auto bytes = make_message(self.rank, 1, size);
    std::vector<unsigned char> room(size);
    const status_t received = self.receive(room, 1)();
    comp_t sent = alloc_sync_x().runtime(self.runtime)();
    EXPECT_TRUE(accepted(post_send_x(self.to, bytes.data(), size, 1, sent).runtime(self.runtime))
                    .is_posted());
    EXPECT_TRUE(self.end_of(received).is_done());
    EXPECT_EQ(room, make_message(self.from, 1, size));
    sync_wait_x(sent, nullptr).runtime(self.runtime)();
    EXPECT_TRUE(
        accepted(post_am_x(self.to, bytes.data(), size, sent, self.rcomp).runtime(self.runtime))
            .is_posted());
    const status_t came = self.pop();
    EXPECT_EQ(came.size, size);
    EXPECT_EQ(0, std::memcmp(came.buffer, room.data(), size));
    std::free(came.buffer);
    sync_wait_x(sent, nullptr).runtime(self.runtime)();
    free_comp_x{&sent}.runtime(self.runtime)();
  }
}

// auto_select: the receiver gets the bytes where the network says that this is faster.
TEST(Rendezvous, EveryProtocol) {
  for (auto protocol : {attr_rdv_protocol_t::auto_select, attr_rdv_protocol_t::write,
                        attr_rdv_protocol_t::writeimm}) {
    for (size_t max_msg_size : {size_t{1} << 30, size_t{4096}}) {
      runtime_attr_t attr;
      attr.rdv_protocol = protocol;
      global_attr_t defaults;
      defaults.max_msg_size = max_msg_size;
      run(
          3,
          [](rank_under_test& self) {
            exchange_messages(self, {less_if_simulated<size_t>(40000, 8300),
                                     less_if_simulated<size_t>(100000, 9001)});
          },
          defaults, attr);
    }
  }
}

// A message that the receiver could get waits for its receive, or is too long for it.
TEST(Rendezvous, MessagesComeBeforeTheirReceive) {
  const size_t size = less_if_simulated<size_t>(100000, 9001);
  run(2, [size](rank_under_test& self) {
    const auto progress = [&] { progress_x().runtime(self.runtime)(); };
    const auto unexpected = [&] {
      // The second engine is that of the program.
      return get_counters_x().runtime(self.runtime)().matching_engines.at(1).unexpected;
    };
    for (uint64_t round = 0; round < 3; ++round) {
      auto bytes = make_message(self.rank, 1, size);
      comp_t sent = alloc_sync_x().runtime(self.runtime)();
      EXPECT_TRUE(accepted(post_send_x(self.to, bytes.data(), size, 1, sent).runtime(self.runtime))
                      .is_posted());
      while (unexpected() == round) progress();
      const bool fits = round != 1;
      std::vector<unsigned char> room(fits ? size : size - 1);
      const status_t came = self.end_of(self.receive(room, 1)());
      EXPECT_EQ(came.is_done(), fits);
      if (fits) {
        EXPECT_EQ(room, make_message(self.from, 1, size));
      }
      status_t of_sender;
      sync_wait_x(sent, &of_sender).runtime(self.runtime)();
      EXPECT_EQ(of_sender.is_done(), fits);
      free_comp_x{&sent}.runtime(self.runtime)();
      self.meet();
    }
  });
}

// A send that would be complete at once if it was copied does not wait for the receive either if
// the receiver gets its bytes.
TEST(Rendezvous, SmallMessagesNeedNoReceive) {
  run(2, [](rank_under_test& self) {
    for (const size_t size : {size_t{4000}, size_t{8000}}) {
      auto bytes = make_message(self.rank, 1, size);
      const status_t out = accepted(self.send(bytes, 1));
      if (!simulated()) {
        // Of a simulated network, gets may have to be tried again, when the copy is not made.
        EXPECT_TRUE(self.end_of(out).is_done());
      }
      std::vector<unsigned char> room(size);
      comp_t received = alloc_sync_x().runtime(self.runtime)();
      const status_t in = post_recv_x(self.from, room.data(), size, 1, received)
                              .allow_done(false)
                              .runtime(self.runtime)();
      EXPECT_TRUE(in.is_posted());
      sync_wait_x(received, nullptr).runtime(self.runtime)();
      EXPECT_EQ(room, make_message(self.from, 1, size));
      if (simulated()) {
        EXPECT_TRUE(self.end_of(out).is_done());
      }
      free_comp_x{&received}.runtime(self.runtime)();
      self.meet();
    }
  });
}

// In pieces of the network's choice. The last piece may be smaller than the limit of sends by copy.
TEST(Rendezvous, InPiecesOverTcp) {
  if (simulated()) GTEST_SKIP() << "is about another network";
  static constexpr size_t piece = 10000;
  for (const char* provider : {"tcp;ofi_rxm", "net"}) {
    net::ofi::wanted_provider wanted;
    wanted.name = provider;
    wanted.one_host = true;
    if (!net::ofi::list_providers(wanted).ok()) {
      std::cout << "NOT TESTED: " << provider << " is not on this machine\n";
      continue;
    }
    for (auto protocol : {attr_rdv_protocol_t::write, attr_rdv_protocol_t::writeimm}) {
      runtime_attr_t attr;
      attr.rdv_protocol = protocol;
      global_attr_t defaults;
      defaults.backend = attr_backend_t::ofi;
      defaults.ofi_provider_name = provider;
      defaults.ofi_eager_size = 0;
      defaults.ofi_piece_size = piece;
      run(
          2,
          [](rank_under_test& self) {
            const net::device& network = *self.runtime.p_impl->default_device()->net;
            EXPECT_EQ(network.limits(self.to).latency_critical_piece, piece);
            exchange_messages(self, {piece, piece + 1, 2 * piece, 10 * piece - 1, 10 * piece + 1});
          },
          defaults, attr);
    }
  }
}

// `size` bytes of address space that show the same `period` bytes over and over.
class repeated_memory {
 public:
  repeated_memory(size_t size, size_t period) : size_((size + period - 1) / period * period) {
    const int fd = memfd_create("repeated", 0);
    EXPECT_EQ(ftruncate(fd, static_cast<off_t>(period)), 0);
    base_ = static_cast<unsigned char*>(
        mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    for (size_t at = 0; at < size_; at += period) {
      EXPECT_NE(mmap(base_ + at, period, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0),
                MAP_FAILED);
    }
    close(fd);
  }
  ~repeated_memory() { munmap(base_, size_); }
  unsigned char* data() { return base_; }

 private:
  size_t size_;
  unsigned char* base_;
};

TEST(Rendezvous, MoreThanFourGiB) {
  if (simulated()) GTEST_SKIP() << "in pieces of 100 bytes it would take minutes";
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the sanitizer's own memory would be several times the 8 GiB of addresses";
#endif
  run(1, [](rank_under_test& self) {
    constexpr size_t size = (size_t{4} << 30) + 12345;
    constexpr size_t out_period = size_t{3} << 20;
    constexpr size_t in_period = size_t{5} << 20;
    repeated_memory out(size, out_period);
    repeated_memory in(size, in_period);
    for (size_t i = 0; i < out_period / 8; ++i) {
      reinterpret_cast<uint64_t*>(out.data())[i] = i * 0x9e3779b97f4a7c15;
    }
    // The last bytes written at each place are left.
    const auto check = [&] {
      for (size_t i = 0; i < in_period; i += 4093) {
        const size_t last = (size - 1 - i) / in_period * in_period + i;
        ASSERT_EQ(in.data()[i], out.data()[last % out_period]) << i;
      }
      std::memset(in.data(), 0, in_period);
    };
    const status_t received = post_recv_x(0, in.data(), size, 1, self.sync).runtime(self.runtime)();
    static_cast<void>(post_send_x(0, out.data(), size, 1, COMP_NULL).runtime(self.runtime)());
    EXPECT_EQ(self.end_of(received).size, size);
    check();
    mr_t mr = register_memory_x(in.data(), size).runtime(self.runtime)();
    const rmr_t rmr = get_rmr_x(mr).runtime(self.runtime)();
    static_cast<void>(post_put_x(0, out.data(), size, COMP_NULL, 0, rmr).runtime(self.runtime)());
    check();
    deregister_memory_x{&mr}.runtime(self.runtime)();
    mr = register_memory_x(out.data(), size).runtime(self.runtime)();
    static_cast<void>(
        post_get_x(0, in.data(), size, COMP_NULL, 0, get_rmr_x(mr).runtime(self.runtime)())
            .runtime(self.runtime)());
    check();
    deregister_memory_x{&mr}.runtime(self.runtime)();
  });
}

// More conversations than tickets.

rt::rendezvous& conversations_of(runtime_t runtime) {
  return runtime.p_impl->default_device()->rendezvous;
}

// Larger than anything that is sent by copy.
size_t large_size() { return less_if_simulated<size_t>(40000, 8300); }

// Sends `count` messages at a time, which the peer all takes, and as many active messages. Returns
// how often a post answered retry because of the tickets.
int exchange_many(rank_under_test& self, int count, bool allow_retry) {
  const auto n = static_cast<size_t>(count);
  std::vector<std::vector<unsigned char>> bytes;
  std::vector<std::vector<unsigned char>> rooms(n, std::vector<unsigned char>(large_size()));
  comp_t sent = alloc_counter_x().runtime(self.runtime)();
  comp_t received = alloc_counter_x().runtime(self.runtime)();
  for (size_t i = 0; i < n; ++i) bytes.push_back(make_message(self.rank, i, large_size()));
  int refused = 0;
  const auto post = [&](auto operation) {
    for (;;) {
      const status_t status = operation.runtime(self.runtime).allow_retry(allow_retry)();
      if (!status.is_retry()) {
        EXPECT_TRUE(status.is_posted());
        return;
      }
      EXPECT_TRUE(allow_retry);
      if (status.error.errorcode == errorcode_t::retry_nomem) ++refused;
      progress_x().runtime(self.runtime)();
    }
  };
  const auto receive = [&](size_t i) {
    EXPECT_TRUE(post_recv_x(self.from, rooms[i].data(), large_size(), i, received)
                    .runtime(self.runtime)()
                    .is_posted());
  };
  // Half of the receives are there before the messages. Of the others each follows its send, so
  // that a send that is retried waits only for those before it.
  for (size_t i = 0; i < n / 2; ++i) receive(i);
  for (size_t i = 0; i < n; ++i) {
    post(post_send_x(self.to, bytes[i].data(), large_size(), i, sent));
    if (i >= n / 2) receive(i);
  }
  while (counter_get_x(sent).runtime(self.runtime)() < count ||
         counter_get_x(received).runtime(self.runtime)() < count) {
    progress_x().runtime(self.runtime)();
  }
  for (size_t i = 0; i < n; ++i) {
    EXPECT_EQ(rooms[i], make_message(self.from, i, large_size())) << "message " << i;
  }
  for (size_t i = 0; i < n; ++i) {
    post(post_am_x(self.to, bytes[i].data(), large_size(), sent, self.rcomp).tag(i));
  }
  std::vector<bool> seen(n);
  for (size_t i = 0; i < n; ++i) {
    const status_t came = self.pop();
    EXPECT_FALSE(seen.at(came.tag)) << "message " << came.tag;
    seen[came.tag] = true;
    EXPECT_EQ(came.size, large_size());
    EXPECT_EQ(0, std::memcmp(came.buffer, rooms[came.tag].data(), large_size()));
    std::free(came.buffer);
  }
  wait_drained_x().runtime(self.runtime)();
  EXPECT_EQ(counter_get_x(sent).runtime(self.runtime)(), 2 * count);
  EXPECT_TRUE(conversations_of(self.runtime).idle());
  self.meet();
  free_comp_x{&sent}.runtime(self.runtime)();
  free_comp_x{&received}.runtime(self.runtime)();
  return refused;
}

TEST(Rendezvous, MoreThanTicketsAreRetried) {
  for (const int ranks : {1, 2, 3}) {
    run(ranks, [](rank_under_test& self) {
      conversations_of(self.runtime).set_limit(3);
      EXPECT_GT(exchange_many(self, 20, /*allow_retry=*/true), 0);
    });
  }
}

TEST(Rendezvous, MoreThanTicketsWaitInTheBacklog) {
  for (const int ranks : {1, 2, 3}) {
    run(ranks, [](rank_under_test& self) {
      conversations_of(self.runtime).set_limit(2);
      EXPECT_EQ(exchange_many(self, 20, /*allow_retry=*/false), 0);
    });
  }
}

// Those that the peers announce, too, where the rank sends less than it receives.
TEST(Rendezvous, MoreThanTheReceiversTickets) {
  run(3, [](rank_under_test& self) {
    constexpr int count = 30;
    comp_t finished = alloc_counter_x().runtime(self.runtime)();
    std::vector<std::vector<unsigned char>> rooms(2 * count,
                                                  std::vector<unsigned char>(large_size()));
    if (self.rank == 0) {
      conversations_of(self.runtime).set_limit(1);
      for (size_t i = 0; i < rooms.size(); ++i) {
        EXPECT_TRUE(
            post_recv_x(static_cast<int>(i % 2) + 1, rooms[i].data(), large_size(), i / 2, finished)
                .runtime(self.runtime)()
                .is_posted());
      }
    }
    self.meet();
    std::vector<std::vector<unsigned char>> bytes;
    for (size_t i = 0; i < count && self.rank != 0; ++i) {
      bytes.push_back(make_message(self.rank, i, large_size()));
      EXPECT_TRUE(
          accepted(post_send_x(0, bytes[i].data(), large_size(), i, finished).runtime(self.runtime))
              .is_posted());
    }
    while (counter_get_x(finished).runtime(self.runtime)() < (self.rank == 0 ? 2 * count : count)) {
      progress_x().runtime(self.runtime)();
    }
    for (size_t i = 0; i < rooms.size() && self.rank == 0; ++i) {
      EXPECT_EQ(rooms[i], make_message(static_cast<int>(i % 2) + 1, i / 2, large_size()));
    }
    self.meet();
    free_comp_x{&finished}.runtime(self.runtime)();
  });
}

// Each of them ends, and with an error, when the peer is lost.
TEST(Rendezvous, WhatWaitsForATicketEndsWithItsPeer) {
  if (simulated()) GTEST_SKIP() << "ends the ranks one by one";
  run_ranks(2, [](std::unique_ptr<boot::bootstrap> boot) {
    boot::bootstrap* const bootstrap = boot.get();
    const auto made =
        std::make_unique<runtime_impl_t>(std::move(boot), runtime_attr_t(), global_attr_t());
    const runtime_t runtime = made.get();
    barrier_x().runtime(runtime)();
    if (rank_of(runtime) == 0) {
      constexpr int count = 10;
      conversations_of(runtime).set_limit(2);
      comp_t queue = alloc_cq_x().runtime(runtime)();
      std::vector<unsigned char> bytes(large_size());
      for (int i = 0; i < count; ++i) {
        EXPECT_TRUE(post_send_x(1, bytes.data(), large_size(), 1, queue)
                        .runtime(runtime)
                        .allow_retry(false)()
                        .is_posted());
      }
      made->engines().fail_peer(1);
      conversations_of(runtime).fail_peer(1);
      for (int failed = 0; failed < count;) {
        progress_x().runtime(runtime)();
        const status_t status = cq_pop_x(queue).runtime(runtime)();
        if (status.is_retry()) continue;
        EXPECT_EQ(status.error.errorcode, errorcode_t::fatal);
        ++failed;
      }
      EXPECT_TRUE(conversations_of(runtime).idle());
      free_comp_x{&queue}.runtime(runtime)();
    }
    EXPECT_TRUE(bootstrap->barrier("end", patience).ok());
  });
}

}  // namespace
}  // namespace lci
