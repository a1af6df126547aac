// Tests of devices and messages.
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "lci/base/backoff.h"
#include "lci/testing/conformance/operations.h"
#include "lci/testing/conformance/suite.h"

namespace lci::net::conformance {

TEST_P(Conformance, LimitsAndNameAreAsTheContractSays) {
  run([](rank_under_test& self) {
    EXPECT_EQ(check_limits(self.dev.limits()).ToString(), base::OkStatus().ToString());
    for (int r = 0; r < self.ranks; ++r) {
      EXPECT_EQ(check_limits(self.dev.limits(r)).ToString(), base::OkStatus().ToString());
    }
    EXPECT_STREQ(self.network.name(), GetParam().entry->name);
  });
}

TEST_P(Conformance, AnIdleDeviceSaysRetry) {
  run([](rank_under_test& self) {
    completion out;
    size_t count = 5;
    EXPECT_TRUE(self.dev.poll(&out, 1, &count).is_retry());
    EXPECT_EQ(count, 0u);
    EXPECT_TRUE(self.dev.drained());
  });
}

// On a network that can tell.
TEST_P(Conformance, AMessageThatNobodyHasPolledIsAnArrival) {
  run([](rank_under_test& self) {
    const auto ignore = [](const completion&) {};
    self.connect();
    EXPECT_NE(self.dev.has_arrivals(), true);
    self.barrier();
    const uint64_t word = 1;
    const op send = make_send(self.rank, &word, sizeof(word), 1);
    error_t result;
    do {
      result = self.dev.post(send);
    } while (result.is_retry());
    EXPECT_TRUE(result.is_done());
    EXPECT_NE(self.dev.has_arrivals(), false);
    size_t arrived = 0;
    self.poll_until([&] { return arrived == 1; }, [&](const completion&) { ++arrived; });
    EXPECT_NE(self.dev.has_arrivals(), true);
    self.polling_barrier(ignore);
  });
}

TEST_P(Conformance, EverySizeArrivesOnceWithItsImmediateInOrder) {
  run([](rank_under_test& self) {
    std::vector<size_t> sizes = {0, 1, 7, 8, 9, 47, 48, 49, 63, 64, 65, 111, 112, 113, 1000, 4096};
    const size_t max = self.dev.limits().max_inject;
    sizes.insert(sizes.end(), {max - 1, max});
    sizes.erase(std::remove_if(sizes.begin(), sizes.end(), [max](size_t s) { return s > max; }),
                sizes.end());
    std::vector<size_t> next(static_cast<size_t>(self.ranks), 0);
    size_t arrived = 0;
    const auto check = [&](const completion& c) {
      ASSERT_EQ(c.kind, completion_kind::recv);
      size_t& number = next[static_cast<size_t>(c.rank)];
      ASSERT_EQ(c.imm, 0xffffff00u + number);  // all 32 bits
      ASSERT_EQ(c.size, sizes[number]);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(c.bytes()) % 8, 0u);
      EXPECT_TRUE(has_bytes(c.bytes(), c.rank, number, c.size));
      ++number;
      ++arrived;
    };
    for (size_t i = 0; i < sizes.size(); ++i) {
      const std::vector<unsigned char> bytes = make_bytes(self.rank, i, sizes[i]);
      for (int to = 0; to < self.ranks; ++to) {
        op send =
            make_send(to, bytes.data(), bytes.size(), static_cast<net_imm_data_t>(0xffffff00u + i));
        // The first bytes as a header, where there are enough.
        if (sizes[i] >= 24) {
          send.header = bytes.data();
          send.header_size = 24;
          send.buffer = const_cast<unsigned char*>(bytes.data()) + 24;
          send.size -= 24;
        }
        EXPECT_TRUE(self.post(send, check).is_done());
      }
    }
    self.poll_until([&] { return arrived == sizes.size() * static_cast<size_t>(self.ranks); },
                    check);
    completion out;
    size_t count = 0;
    static_cast<void>(self.dev.poll(&out, 1, &count));
    EXPECT_EQ(count, 0u);
  });
}

// A device may reach ranks in several ways, each with limits of its own.
TEST_P(Conformance, AShortMessageHasAtMostTheBytesThatItsRankTakes) {
  run([](rank_under_test& self) {
    std::vector<size_t> sizes_to_us;  // of each rank: the most
    for (int to = 0; to < self.ranks; ++to) {
      const std::vector<size_t> most = self.exchange(self.dev.limits(to).max_inject);
      if (to == self.rank) sizes_to_us = most;
    }
    const auto sizes_up_to = [](size_t most) {
      return std::vector<size_t>{0, 1, 8, 48, 55, 56, 57, 64, most - 1, most};
    };
    std::vector<size_t> next(static_cast<size_t>(self.ranks), 0);
    size_t arrived = 0;
    const auto check = [&](const completion& c) {
      ASSERT_EQ(c.kind, completion_kind::recv);
      size_t& number = next[static_cast<size_t>(c.rank)];
      ASSERT_EQ(c.imm, 0xffffff00u + number);
      ASSERT_EQ(c.size, sizes_up_to(sizes_to_us[static_cast<size_t>(c.rank)])[number]);
      EXPECT_TRUE(has_bytes(c.bytes(), c.rank, number, c.size));
      ++number;
      ++arrived;
    };
    const size_t count = sizes_up_to(64).size();
    for (int to = 0; to < self.ranks; ++to) {
      const size_t most = self.dev.limits(to).max_inject;
      for (size_t i = 0; i < count; ++i) {
        std::vector<unsigned char> bytes = make_bytes(self.rank, i, sizes_up_to(most)[i]);
        const auto imm = static_cast<net_imm_data_t>(0xffffff00u + i);
        error_t result;
        self.poll_until(
            [&] {
              result = self.dev.post_short({to, op_kind::send}, imm, bytes.data(), bytes.size(),
                                           nullptr);
              return !result.is_retry() || result.errorcode == errorcode_t::retry;
            },
            check);
        // It may say that the receiver should get the bytes, and takes them nevertheless.
        if (self.dev.is_got_sooner(to, bytes.size(), false) &&
            result.errorcode == errorcode_t::retry) {
          result = self.post(make_op({to, op_kind::send}, imm, bytes.data(), bytes.size(), nullptr),
                             check);
        }
        EXPECT_EQ(result.errorcode, errorcode_t::done) << bytes.size() << " bytes";
        bytes.assign(bytes.size(), 0);  // the bytes belong to the caller again
      }
      std::vector<unsigned char> long_one(most + 1);
      EXPECT_EQ(
          self.dev.post_short({to, op_kind::send}, 1, long_one.data(), most + 1, nullptr).errorcode,
          errorcode_t::retry);
    }
    self.poll_until([&] { return arrived == count * static_cast<size_t>(self.ranks); }, check);
  });
}

TEST_P(Conformance, AFullPathIsRetryAndLosesNothing) {
  run([](rank_under_test& self) {
    const int to = (self.rank + 1) % self.ranks;
    const int from = (self.rank + self.ranks - 1) % self.ranks;
    self.connect();
    uint64_t accepted = 0;
    uint64_t value[128] = {};
    const size_t size = std::min(sizeof(value), self.dev.limits().max_inject);
    // No rank polls, so the path fills up. One refusal may have another reason; a hundred in a row
    // have not.
    for (int refused = 0; refused < 100;) {
      value[0] = accepted;
      const error_t result = self.dev.post(make_send(to, value, size, 1));
      if (result.is_retry()) {
        ++refused;
        continue;
      }
      ASSERT_TRUE(result.is_done());
      ASSERT_LT(++accepted, 10000000u);
      refused = 0;
    }
    EXPECT_GT(accepted, 0u);
    constexpr uint64_t more = 1000;
    const uint64_t expected = self.exchange(accepted)[static_cast<size_t>(from)] + more;
    uint64_t received = 0;
    const auto check = [&](const completion& c) {
      uint64_t number;
      std::memcpy(&number, c.bytes(), sizeof(number));
      EXPECT_EQ(c.rank, from);
      EXPECT_EQ(number, received++);
    };
    for (uint64_t i = 0; i < more; ++i) {
      value[0] = accepted + i;
      ASSERT_TRUE(self.post(make_send(to, value, size, 1), check).is_done());
    }
    self.poll_until([&] { return received == expected; }, check);
  });
}

TEST_P(Conformance, LeasesHoldTheirBytesAndEndInAnyOrder) {
  run([](rank_under_test& self) {
    const int to = (self.rank + 1) % self.ranks;
    self.connect();
    for (size_t round = 0; round < 60; ++round) {
      constexpr size_t burst = 6;
      const size_t max = self.dev.limits().max_inject;
      const size_t size = std::min(max, 100 + 97 * round % max / 8);
      for (size_t i = 0; i < burst; ++i) {
        const auto bytes = make_bytes(self.rank, round * burst + i, size);
        // Without polling, which would take the messages to hold. So few fit without it.
        while (self.dev.post(make_send(to, bytes.data(), size, 0)).is_retry()) {
        }
      }
      std::vector<completion> held;
      base::backoff backoff;
      while (held.size() < burst) {
        completion c;
        size_t count = 0;
        static_cast<void>(self.dev.poll(&c, 1, &count));
        if (count == 1) {
          held.push_back(c);
        } else {
          backoff.idle();
        }
      }
      for (size_t i : {3, 0, 5, 1, 4, 2}) {
        EXPECT_TRUE(has_bytes(held[i].bytes(), held[i].rank, round * burst + i, size));
        self.dev.release(held[i]);
      }
    }
  });
}

TEST_P(Conformance, DevicesDoNotMix) {
  run([](rank_under_test& self) {
    device_config config;
    config.uid = 1;
    config.max_message = 512;
    auto second = self.network.make_device(config);
    ASSERT_TRUE(second.ok()) << second.status();
    rank_under_test other{self.rank, self.ranks, self.boot, self.network, **second, 1000};
    std::vector<net_imm_data_t> first_saw;
    std::vector<net_imm_data_t> second_saw;
    const auto see_first = [&](const completion& c) { first_saw.push_back(c.imm); };
    const auto see_second = [&](const completion& c) { second_saw.push_back(c.imm); };
    const int to = (self.rank + 1) % self.ranks;
    uint64_t value = 1;
    ASSERT_TRUE(self.post(make_send(to, &value, 8, 100), see_first).is_done());
    value = 2;
    ASSERT_TRUE(other.post(make_send(to, &value, 8, 200), see_second).is_done());
    other.poll_until([&] { return !second_saw.empty(); }, see_second);
    self.poll_until([&] { return !first_saw.empty(); }, see_first);
    EXPECT_EQ(first_saw, std::vector<net_imm_data_t>{100});
    EXPECT_EQ(second_saw, std::vector<net_imm_data_t>{200});
    self.barrier();
  });
}

TEST_P(Conformance, MessagesSentBeforeADeviceEndsArrive) {
  run([](rank_under_test& self) {
    device_config config;
    config.uid = 1;
    auto second = self.network.make_device(config);
    ASSERT_TRUE(second.ok());
    rank_under_test other{self.rank, self.ranks, self.boot, self.network, **second, 2000};
    const int to = (self.rank + 1) % self.ranks;
    other.connect();
    uint64_t value = 42;
    bool seen = false;
    const auto see = [&](const completion& c) {
      EXPECT_EQ(c.kind, completion_kind::recv);
      EXPECT_EQ(c.imm, 7u);
      seen = true;
    };
    const int last = self.ranks - 1;
    const error_t result = other.post(make_send(to, &value, 8, 7), see);
    // Every rank but the last ends its device at once, perhaps before this post.
    EXPECT_TRUE(result.is_done() || (to != last && result.errorcode == errorcode_t::fatal));
    if (self.rank != last) second->reset();
    self.barrier();
    if (self.rank == last) {
      other.poll_until([&] { return seen; }, see);
    }
  });
}

TEST_P(Conformance, ManyThreadsPostPollAndRelease) {
  constexpr int threads = 4;
  constexpr uint64_t messages = 400;
  run([](rank_under_test& self) {
    const uint64_t expected = threads * messages * static_cast<uint64_t>(self.ranks);
    std::atomic<uint64_t> received{0};
    std::atomic<uint64_t> sum{0};
    std::vector<std::thread> workers;
    for (uint64_t t = 0; t < threads; ++t) {
      workers.emplace_back([&, t] {
        SCOPED_TRACE(self.label());
        rank_under_test mine{self.rank, self.ranks, self.boot, self.network, self.dev};
        const auto take = [&](const completion& c) {
          uint64_t words[20];
          ASSERT_GE(c.size, sizeof(uint64_t));
          std::memcpy(words, c.bytes(), c.size);
          for (size_t i = 1; i < c.size / 8; ++i) EXPECT_EQ(words[i], words[0]);
          sum += words[0];
          ++received;
        };
        for (uint64_t m = 0; m < messages; ++m) {
          uint64_t words[20];
          std::fill_n(words, 20, t * messages + m);
          for (int to = 0; to < self.ranks; ++to) {
            const size_t size =
                std::min(8 * (1 + (m + t) % 20), mine.dev.limits().max_inject / 8 * 8);
            ASSERT_TRUE(mine.post(make_send(to, words, size, 0), take).is_done());
          }
        }
        mine.poll_until([&] { return received >= expected; }, take);
      });
    }
    for (std::thread& worker : workers) worker.join();
    const uint64_t all = threads * messages;
    EXPECT_EQ(received, expected);
    EXPECT_EQ(sum, all * (all - 1) / 2 * static_cast<uint64_t>(self.ranks));
  });
}

// Each thread makes a device while the others make theirs, and has it to itself.
TEST_P(Conformance, ThreadsUseTheirOwnDevices) {
  constexpr int threads = 3;
  constexpr uint64_t messages = 300;
  run([](rank_under_test& self) {
    std::vector<std::unique_ptr<device>> devices(threads);
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t) {
      workers.emplace_back([&, t] {
        SCOPED_TRACE(self.label());
        device_config config;
        config.uid = 1 + t;
        auto made = self.network.make_device(config);
        ASSERT_TRUE(made.ok()) << made.status();
        devices[static_cast<size_t>(t)] = *std::move(made);
        rank_under_test mine{self.rank, self.ranks, self.boot, self.network,
                             *devices[static_cast<size_t>(t)]};
        // Memory that is registered while the others' devices are made and used.
        std::vector<uint64_t> words(messages);
        const auto region = self.network.register_memory(words.data(), messages * 8);
        ASSERT_TRUE(region.ok()) << region.status();
        std::vector<uint64_t> next(static_cast<size_t>(self.ranks), 0);
        uint64_t received = 0;
        const auto take = [&](const completion& c) {
          ASSERT_EQ(c.kind, completion_kind::recv);
          ASSERT_EQ(c.size, 8u);
          uint64_t word;
          std::memcpy(&word, c.bytes(), 8);
          EXPECT_EQ(word, next[static_cast<size_t>(c.rank)]++);
          EXPECT_EQ(c.imm, static_cast<net_imm_data_t>(t)) << "from another device";
          ++received;
        };
        for (uint64_t m = 0; m < messages; ++m) {
          words[m] = m;
          for (int to = 0; to < self.ranks; ++to) {
            const op send = make_send(to, &words[m], 8, static_cast<net_imm_data_t>(t));
            ASSERT_TRUE(mine.post(send, take).is_done());
          }
        }
        const uint64_t expected = messages * static_cast<uint64_t>(self.ranks);
        mine.poll_until([&] { return received == expected && mine.dev.drained(); }, take);
        self.network.deregister_memory(*region);
      });
    }
    for (std::thread& worker : workers) worker.join();
    self.barrier();
  });
}

// The last rank is killed after it has sent a message to every other rank. The others receive the
// message, then one report of the failure, and continue to communicate with each other.
TEST_P(Conformance, ALostRankIsReportedOnceAfterItsMessages) {
  const int ranks = GetParam().ranks;
  if (!GetParam().processes || ranks < 2)
    GTEST_SKIP() << "a rank that is lost has to be a process, of several";
  run_processes(1, [ranks](rank_under_test& self) {
    const int victim = ranks - 1;
    uint64_t value = 42;
    if (self.rank == victim) {
      for (int to = 0; to < victim; ++to) {
        ASSERT_TRUE(self.post(make_send(to, &value, 8, 7), ignore).is_done());
      }
      // Messages that the network has taken outlive the process; a copy in the device would not.
      self.poll_until([&] { return self.dev.drained(); }, ignore);
      raise(SIGKILL);
    }
    int words = 0;
    int reports = 0;
    int others = 0;
    const auto see = [&](const completion& c) {
      if (c.kind == completion_kind::peer_failed) {
        EXPECT_EQ(c.rank, victim);
        EXPECT_EQ(words, 1) << "what it had sent comes first";
        ++reports;
      } else {
        ASSERT_EQ(c.kind, completion_kind::recv);
        ++(c.rank == victim ? words : others);
      }
    };
    self.poll_until([&] { return reports == 1; }, see);
    EXPECT_EQ(self.post(make_send(victim, &value, 8, 0), see).errorcode, errorcode_t::fatal);
    for (int to = 0; to < victim; ++to) {
      ASSERT_TRUE(self.post(make_send(to, &value, 8, 0), see).is_done());
    }
    self.poll_until([&] { return others == victim; }, see);
    EXPECT_EQ(words, 1);
    EXPECT_EQ(reports, 1);
  });
}

}  // namespace lci::net::conformance
