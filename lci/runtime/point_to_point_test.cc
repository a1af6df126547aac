// Send and receive: every option, at the boundaries of the protocols.
#include <atomic>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/runtime/instance/runtime.h"
#include "lci/testing/ranks/ranks.h"

namespace lci {
namespace {

class PointToPoint : public rank_test {};
INSTANTIATE_TEST_SUITE_P(OneToFourRanks, PointToPoint, testing::ValuesIn(one_to(4)));

// Around all that is a boundary: cells, packets of 8192 bytes with and without header, and what
// shared memory sends by copy.
constexpr size_t eager_size = size_t{32} << 10;
const size_t sizes[] = {0,
                        1,
                        7,
                        8,
                        47,
                        48,
                        49,
                        63,
                        64,
                        65,
                        4096,
                        8159,
                        8160,
                        8161,
                        8175,
                        8176,
                        8177,
                        8191,
                        8192,
                        8193,
                        8207,
                        8208,
                        8209,
                        8223,
                        8224,
                        8225,
                        9000,
                        eager_size,
                        eager_size + 33,
                        65536,
                        1 << 20,
                        (4 << 20) + 1};

// Whether the sender copies such a message.
bool is_copied(size_t size) { return size <= eager_size; }

// Send and receive.

TEST_P(PointToPoint, EverySizeWhoeverComesFirst) {
  run(ranks(), [](rank_under_test& self) {
    comp_t sent = alloc_counter_x().runtime(self.runtime)();
    int64_t posted = 0;
    for (bool receive_first : {true, false}) {
      // A tag that leaves without a header, and one that doesn't.
      for (tag_t base : {tag_t{0}, tag_t{1} << 40}) {
        for (size_t size : sizes) {
          if (size > greatest_size()) continue;
          const tag_t tag = base + size;
          auto bytes = make_message(self.rank, tag, size);
          std::vector<unsigned char> room(size + 3, 0xee);
          status_t received;
          if (receive_first) received = self.receive(room, tag)();
          self.meet();
          const status_t out =
              accepted(post_send_x(self.to, bytes.data(), size, tag, sent).runtime(self.runtime));
          EXPECT_TRUE(simulated() || out.is_done() == is_copied(size));
          EXPECT_EQ(out.rank, self.to);
          EXPECT_EQ(out.size, size);
          EXPECT_EQ(out.tag, tag);
          posted += out.is_posted() ? 1 : 0;
          if (!receive_first) {
            self.meet();  // with eager messages waiting
            received = self.receive(room, tag)();
          }
          received = self.end_of(received);
          ASSERT_TRUE(received.is_done());
          EXPECT_EQ(received.rank, self.from);
          EXPECT_EQ(received.tag, tag);
          EXPECT_EQ(received.buffer, room.data());
          ASSERT_EQ(received.size, size);
          const auto expected = make_message(self.from, tag, size);
          EXPECT_TRUE(std::equal(expected.begin(), expected.end(), room.begin()));
          EXPECT_EQ(room[size], 0xee) << "behind the message";
          // The bytes are the library's until then.
          while (counter_get_x(sent).runtime(self.runtime)() < posted) {
            progress_x().runtime(self.runtime)();
          }
          self.meet();
        }
      }
    }
    wait_drained_x().runtime(self.runtime)();
    EXPECT_EQ(counter_get_x(sent).runtime(self.runtime)(), posted);
    free_comp_x{&sent}.runtime(self.runtime)();
  });
}

TEST_P(PointToPoint, ManyOfAKeyMeetInTheOrderOfEagerSends) {
  run(ranks(), [](rank_under_test& self) {
    constexpr uint64_t count = 100;
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t value = i;
      static_cast<void>(accepted(
          post_send_x(self.to, &value, sizeof(value), 1, COMP_NULL_RETRY).runtime(self.runtime)));
    }
    self.meet();
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t value = ~uint64_t{0};
      const status_t status =
          post_recv_x(self.from, &value, sizeof(value), 1, COMP_NULL).runtime(self.runtime)();
      EXPECT_TRUE(status.is_done());
      EXPECT_EQ(value, i);
    }
  });
}

TEST_P(PointToPoint, PoliciesSayWhatMatches) {
  run(ranks(), [](rank_under_test& self) {
    struct row {
      matching_policy_t policy;
      int from;
      tag_t tag;
    };
    const row rows[] = {{matching_policy_t::rank_tag, self.from, 77},
                        {matching_policy_t::rank_only, self.from, ANY_TAG},
                        {matching_policy_t::rank_only, self.from, 5},
                        {matching_policy_t::tag_only, ANY_SOURCE, 77},
                        {matching_policy_t::tag_only, 0, 77},
                        {matching_policy_t::none, ANY_SOURCE, ANY_TAG}};
    for (size_t size : {size_t{8}, size_t{9000}}) {
      for (const row& r : rows) {
        for (bool receive_first : {true, false}) {
          auto bytes = make_message(self.rank, 77, size);
          std::vector<unsigned char> room(size);
          const auto receive = [&] {
            return post_recv_x(r.from, room.data(), size, r.tag, self.sync)
                .matching_policy(r.policy)
                .runtime(self.runtime)();
          };
          comp_t sent = alloc_sync_x().runtime(self.runtime)();
          status_t received;
          if (receive_first) received = receive();
          self.meet();
          const status_t out = accepted(post_send_x(self.to, bytes.data(), size, 77, sent)
                                            .matching_policy(r.policy)
                                            .runtime(self.runtime));
          if (!receive_first) {
            self.meet();
            received = receive();
          }
          received = self.end_of(received);
          ASSERT_TRUE(received.is_done());
          EXPECT_EQ(received.rank, self.from) << "the sender, not the wildcard";
          EXPECT_EQ(received.tag, 77u);
          EXPECT_EQ(room, make_message(self.from, 77, size));
          if (out.is_posted()) sync_wait_x(sent, nullptr).runtime(self.runtime)();
          free_comp_x{&sent}.runtime(self.runtime)();
          self.meet();
        }
      }
    }
  });
}

TEST_P(PointToPoint, ThePolicyOfAReceiveFollowsFromItsWildcards) {
  run(ranks(), [](rank_under_test& self) {
    struct row {
      matching_policy_t sender;
      int from;
      tag_t tag;
    };
    const row rows[] = {{matching_policy_t::rank_tag, self.from, 77},
                        {matching_policy_t::rank_only, self.from, ANY_TAG},
                        {matching_policy_t::tag_only, ANY_SOURCE, 77},
                        {matching_policy_t::none, ANY_SOURCE, ANY_TAG}};
    for (const row& r : rows) {
      uint64_t value = 1;
      uint64_t got = 0;
      const status_t posted = post_recv_x(r.from, &got, sizeof(got), r.tag, self.sync)
                                  .runtime(self.runtime)
                                  .allow_done(false)();
      ASSERT_TRUE(posted.is_posted());
      // Messages that the receive does not match go elsewhere.
      for (const row& other : rows) {
        if (other.sender == r.sender) continue;
        EXPECT_TRUE(post_send_x(self.to, &value, sizeof(value), 77, COMP_NULL)
                        .matching_policy(other.sender)
                        .runtime(self.runtime)()
                        .is_done());
      }
      value = 2;
      EXPECT_TRUE(post_send_x(self.to, &value, sizeof(value), 77, COMP_NULL)
                      .matching_policy(r.sender)
                      .runtime(self.runtime)()
                      .is_done());
      EXPECT_EQ(self.end_of(posted).rank, self.from);
      EXPECT_EQ(got, 2u);
      for (const row& other : rows) {
        if (other.sender == r.sender) continue;
        EXPECT_TRUE(post_recv_x(other.from, &got, sizeof(got), other.tag, COMP_NULL)
                        .runtime(self.runtime)()
                        .is_done());
        EXPECT_EQ(got, 1u);
      }
      self.meet();
    }
  });
}

TEST_P(PointToPoint, DifferentKeysEnginesAndPoliciesDoNotMeet) {
  run(ranks(), [](rank_under_test& self) {
    matching_engine_t engine = alloc_matching_engine_x().runtime(self.runtime)();
    self.meet();
    // Tags whose differences are beyond 32 and 46 bits, too.
    const tag_t tags[] = {1, tag_t{1} << 33 | 1, tag_t{1} << 62 | 1, ~tag_t{0} - 1};
    uint64_t value = 0;
    const auto send = [&](tag_t tag, matching_engine_t in, matching_policy_t policy) {
      ++value;
      EXPECT_TRUE(post_send_x(self.to, &value, sizeof(value), tag, COMP_NULL)
                      .matching_engine(in)
                      .matching_policy(policy)
                      .runtime(self.runtime)()
                      .is_done());
    };
    const auto receive = [&](tag_t tag, matching_engine_t in, matching_policy_t policy) {
      uint64_t got = 0;
      static_cast<void>(post_recv_x(self.from, &got, sizeof(got), tag, COMP_NULL)
                            .matching_engine(in)
                            .matching_policy(policy)
                            .runtime(self.runtime)());
      return got;
    };
    const matching_engine_t main = get_default_matching_engine_x().runtime(self.runtime)();
    for (tag_t tag : tags) {
      for (matching_engine_t in : {main, engine}) {
        send(tag, in, matching_policy_t::rank_tag);
        send(tag, in, matching_policy_t::tag_only);
      }
    }
    // In the opposite order.
    uint64_t expected = value;
    for (size_t i = 4; i > 0; --i) {
      for (matching_engine_t in : {engine, main}) {
        EXPECT_EQ(receive(tags[i - 1], in, matching_policy_t::tag_only), expected--);
        EXPECT_EQ(receive(tags[i - 1], in, matching_policy_t::rank_tag), expected--);
      }
    }
    self.meet();
    free_matching_engine_x{&engine}.runtime(self.runtime)();
  });
}

TEST_P(PointToPoint, EnginesOfBothTypesWithKeysOfTheProgram) {
  run(ranks(), [](rank_under_test& self) {
    // Only the tag's parity counts.
    const matching_make_key_t parity = [](int, tag_t tag, matching_policy_t) {
      return static_cast<matching_entry_key_t>(tag % 2);
    };
    for (auto type : {attr_matching_engine_type_t::map, attr_matching_engine_type_t::queue}) {
      for (matching_make_key_t make_key : {matching_make_key_t{nullptr}, parity}) {
        matching_engine_t engine =
            alloc_matching_engine_x().matching_engine_type(type).make_key(make_key).runtime(
                self.runtime)();
        self.meet();
        for (uint64_t tag = 0; tag < 20; ++tag) {
          EXPECT_TRUE(post_send_x(self.to, &tag, sizeof(tag), tag, COMP_NULL)
                          .matching_engine(engine)
                          .runtime(self.runtime)()
                          .is_done());
        }
        for (uint64_t i = 0; i < 20; ++i) {
          uint64_t got = ~uint64_t{0};
          const tag_t tag = make_key == nullptr ? 19 - i : i % 2 + 100;
          const status_t status = post_recv_x(self.from, &got, sizeof(got), tag, COMP_NULL)
                                      .matching_engine(engine)
                                      .runtime(self.runtime)();
          EXPECT_TRUE(status.is_done());
          EXPECT_EQ(got, make_key == nullptr ? 19 - i : i) << "oldest first";
          EXPECT_EQ(status.tag, got);
        }
        self.meet();
        free_matching_engine_x{&engine}.runtime(self.runtime)();
      }
    }
  });
}

TEST_P(PointToPoint, AMessageLongerThanItsReceiveIsFatalForItAlone) {
  run(ranks(), [](rank_under_test& self) {
    for (bool receive_first : {true, false}) {
      for (size_t size : {size_t{100}, less_if_simulated<size_t>(100000, 9000)}) {
        std::vector<unsigned char> bytes(size, 1);
        std::vector<unsigned char> room(size, 0);
        const auto receive = [&] {
          return post_recv_x(self.from, room.data(), size - 1, 3, self.sync)
              .runtime(self.runtime)();
        };
        comp_t sent = alloc_sync_x().runtime(self.runtime)();
        status_t received;
        if (receive_first) received = receive();
        self.meet();
        status_t out =
            accepted(post_send_x(self.to, bytes.data(), size, 3, sent).runtime(self.runtime));
        if (!receive_first) {
          self.meet();
          received = receive();
        }
        received = self.end_of(received);
        EXPECT_EQ(received.error.errorcode, errorcode_t::fatal);
        EXPECT_EQ(room, std::vector<unsigned char>(size, 0));
        if (out.is_posted()) {
          sync_wait_x(sent, &out).runtime(self.runtime)();
          EXPECT_EQ(out.error.errorcode, errorcode_t::fatal) << "the sender learns of it";
        }
        free_comp_x{&sent}.runtime(self.runtime)();
        // All operations continue.
        bytes.resize(8);
        room.assign(8, 0);
        received = self.receive(room, 4)();
        static_cast<void>(self.end_of(
            post_send_x(self.to, bytes.data(), 8, 4, COMP_NULL).runtime(self.runtime)()));
        EXPECT_TRUE(self.end_of(received).is_done());
        EXPECT_EQ(room, bytes);
        self.meet();
      }
    }
  });
}

TEST_P(PointToPoint, AnswersAsAskedFor) {
  run(ranks(), [](rank_under_test& self) {
    for (size_t size : {size_t{8}, less_if_simulated<size_t>(100000, 9000)}) {
      auto bytes = make_message(self.rank, 1, size);
      const auto expected = make_message(self.from, 1, size);
      std::vector<unsigned char> room(size);
      int context = 0;
      // A receive that finds its message, and may not be done: it signals.
      comp_t sent = alloc_counter_x().runtime(self.runtime)();
      int64_t posted = 0;
      const auto send = [&](comp_semantic_t semantic) {
        const status_t out = accepted(post_send_x(self.to, bytes.data(), size, 1, sent)
                                          .comp_semantic(semantic)
                                          .runtime(self.runtime));
        posted += out.is_posted() ? 1 : 0;
      };
      send(comp_semantic_t::memory);
      self.meet();
      status_t status = self.receive(room, 1).allow_done(false).user_context(&context)();
      EXPECT_TRUE(status.is_posted());
      status = self.end_of(status);
      EXPECT_TRUE(status.is_done());
      EXPECT_EQ(status.user_context, &context);
      EXPECT_EQ(room, expected);
      self.meet();
      // One that may not be posted waits.
      room.assign(size, 0);
      send(comp_semantic_t::memory);
      status =
          post_recv_x(self.from, room.data(), size, 1, COMP_NULL_RETRY).runtime(self.runtime)();
      EXPECT_TRUE(status.is_done());
      EXPECT_EQ(status.size, size);
      EXPECT_EQ(room, expected);
      self.meet();
      // A send that is complete only when the network says so.
      status = self.receive(room, 1)();
      send(comp_semantic_t::network);
      EXPECT_TRUE(self.end_of(status).is_done());
      wait_drained_x().runtime(self.runtime)();
      EXPECT_EQ(counter_get_x(sent).runtime(self.runtime)(), posted);
      free_comp_x{&sent}.runtime(self.runtime)();
      self.meet();
    }
  });
}

// Threads.

TEST_P(PointToPoint, ManyThreadsShareAnEngineWithADeviceEach) {
  constexpr int threads = 8;
  const auto messages = less_if_simulated<uint64_t>(150, 5);
  run(ranks(), [messages](rank_under_test& self) {
    std::vector<device_t> devices;
    for (int t = 0; t < threads / 2; ++t)
      devices.push_back(alloc_device_x().runtime(self.runtime)());
    self.meet();
    end_turns();
    std::atomic<int> busy{threads};
    std::vector<std::thread> workers;
    for (uint64_t t = 0; t < threads; ++t) {
      workers.emplace_back([&, t] {
        const device_t device = devices[t % devices.size()];
        comp_t sync = alloc_sync_x().runtime(self.runtime)();
        for (uint64_t i = 0; i < messages; ++i) {
          // Every fifth by rendezvous.
          const size_t size = i % 5 == 0 ? 10000 : 8 + i % 100;
          const tag_t tag = t * messages + i;
          auto bytes = make_message(self.rank, tag, size);
          std::vector<unsigned char> room(size);
          comp_t sent = alloc_sync_x().runtime(self.runtime)();
          status_t received = post_recv_x(self.from, room.data(), size, tag, sync).device(device)();
          const status_t out =
              accepted(post_send_x(self.to, bytes.data(), size, tag, sent).device(device));
          // Its partner may have taken another device than this thread: serve them all.
          const auto wait = [&](comp_t comp) {
            status_t status;
            for (size_t d = 0; !sync_test_x(comp, &status).runtime(self.runtime)(); ++d) {
              if (progress_x().device(devices[d % devices.size()])().is_retry() &&
                  d % devices.size() == 0) {
                std::this_thread::yield();
              }
            }
            return status;
          };
          if (received.is_posted()) received = wait(sync);
          EXPECT_TRUE(received.is_done());
          EXPECT_EQ(room, make_message(self.from, tag, size));
          EXPECT_TRUE(out.is_done() || wait(sent).is_done());
          free_comp_x{&sent}.runtime(self.runtime)();
        }
        free_comp_x{&sync}.runtime(self.runtime)();
        --busy;
        while (busy > 0) {
          progress_x().device(device)();
          std::this_thread::yield();
        }
      });
    }
    for (std::thread& worker : workers) worker.join();
    // Other ranks may still need us.
    std::atomic<bool> met{false};
    std::thread meeting_thread([&] {
      self.meet();
      met = true;
    });
    while (!met) {
      for (device_t device : devices) progress_x().device(device)();
      std::this_thread::yield();
    }
    meeting_thread.join();
    for (device_t device : devices) {
      wait_drained_x().device(device)();
      free_device_x{&device}();
    }
    self.meet();
  });
}

}  // namespace
}  // namespace lci
