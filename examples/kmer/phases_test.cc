#include "examples/kmer/phases.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "examples/kmer/memory_exchange.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kmer {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

message_buffer number_message(uint64_t value) {
  message_buffer buffer(static_cast<char*>(std::malloc(sizeof(value))));
  std::memcpy(buffer.get(), &value, sizeof(value));
  return buffer;
}

uint64_t number_in(const message& incoming) {
  uint64_t value = 0;
  std::memcpy(&value, incoming.bytes.get(), sizeof(value));
  return value;
}

struct shape {
  int ranks;
  int threads;
};

class all_shapes : public testing::TestWithParam<shape> {};

// In each phase every thread sends numbers to everybody; when the phase is over, all of them have
// been handled, and none of the next.
TEST_P(all_shapes, a_phase_ends_when_all_its_messages_have_been_handled) {
  const auto [ranks, threads] = GetParam();
  constexpr size_t phase_count = 3;
  constexpr uint64_t messages = 40;
  memory_network network(ranks, 1);
  network.run([&, threads = threads, ranks = ranks](exchange* mine) {
    std::atomic<uint64_t> sums[phase_count] = {};
    std::vector<phases::handler> handlers;
    for (size_t p = 0; p < phase_count; ++p) {
      handlers.push_back([&sums, p](const message& incoming) { sums[p] += number_in(incoming); });
    }
    phases job(mine, threads, handlers);
    const uint64_t expected =
        messages * (messages + 1) / 2 * static_cast<uint64_t>(threads * ranks);
    for (size_t p = 0; p < phase_count; ++p) {
      bool prepared = false;
      EXPECT_TRUE(job.run(
          [&](int thread) {
            for (uint64_t i = 1; i <= messages; ++i) {
              for (int to = 0; to < ranks; ++to) {
                message_buffer buffer = number_message(i);
                job.send(thread, to, &buffer, sizeof(i));
              }
            }
          },
          [&] {
            prepared = true;
            EXPECT_EQ(sums[p], expected);
            if (p + 1 < phase_count) {
              EXPECT_EQ(sums[p + 1], 0U);
            }
          }));
      EXPECT_TRUE(prepared);
      EXPECT_EQ(mine->unfinished(), 0);
    }
  });
}

TEST_P(all_shapes, one_failure_stops_all_ranks_with_its_reason) {
  const auto [ranks, threads] = GetParam();
  memory_network network(ranks, 2);
  network.run([&, threads = threads, ranks = ranks](exchange* mine) {
    phases job(mine, threads, {[](const message&) {}, [](const message&) {}});
    const bool good = job.run(
        [&](int thread) {
          // The last rank's last thread fails; the others would never end by themselves.
          if (mine->rank() == ranks - 1 && thread == threads - 1) {
            throw std::runtime_error("the dog ate it");
          }
          while (!job.stopped()) {
            message_buffer buffer = number_message(1);
            job.send(thread, (mine->rank() + 1) % ranks, &buffer, 8);
            job.serve(thread);
          }
        },
        [] {});
    EXPECT_FALSE(good);
    const std::string reason = job.reason();
    if (mine->rank() == ranks - 1) {
      EXPECT_EQ(reason, "the dog ate it");
    } else {
      EXPECT_EQ(reason, "rank " + std::to_string(ranks - 1) + " failed: the dog ate it");
    }
  });
}

TEST_P(all_shapes, a_failing_handler_fails_the_job) {
  const auto [ranks, threads] = GetParam();
  memory_network network(ranks, 3);
  network.run([&, threads = threads, ranks = ranks](exchange* mine) {
    phases job(mine, threads, {[&](const message& incoming) {
                 if (mine->rank() == 0 && number_in(incoming) == 7) throw std::bad_alloc();
               }});
    EXPECT_FALSE(job.run(
        [&](int thread) {
          for (uint64_t i = 0; i < 10; ++i) {
            message_buffer buffer = number_message(i);
            job.send(thread, 0, &buffer, 8);
          }
        },
        [] {}));
    EXPECT_FALSE(job.reason().empty());
  });
}

TEST_P(all_shapes, a_failing_preparation_fails_the_job) {
  const auto [ranks, threads] = GetParam();
  memory_network network(ranks, 4);
  network.run([&, threads = threads, ranks = ranks](exchange* mine) {
    phases job(mine, threads, {[](const message&) {}});
    EXPECT_FALSE(job.run([](int) {},
                         [&] {
                           if (mine->rank() == 0) throw std::bad_alloc();
                         }));
    EXPECT_EQ(job.reason(), mine->rank() == 0 ? "std::bad_alloc" : "another rank failed");
  });
}

INSTANTIATE_TEST_SUITE_P(phases, all_shapes,
                         testing::Values(shape{1, 1}, shape{1, 4}, shape{2, 1}, shape{3, 2},
                                         shape{4, 4}));

// Nothing can be agreed on then, but nobody may wait for ever.
TEST(phases, a_broken_network_ends_in_an_exception) {
  memory_network network(2, 5);
  network.run([&](exchange* mine) {
    phases job(mine, 2, {[](const message&) {}});
    EXPECT_THROW(job.run(
                     [&](int thread) {
                       if (mine->rank() == 0 && thread == 0) {
                         network.cut_off(0);
                         network.cut_off(1);
                       }
                     },
                     [] {}),
                 network_error);
  });
}

TEST(phases, a_stray_message_is_refused) {
  memory_network network(2, 6);
  network.run([&](exchange* mine) {
    if (mine->rank() == 1) {
      message_buffer buffer = number_message(1);
      while (!mine->try_send(0, 0, 1234, &buffer, 8)) {
      }
      return;
    }
    phases job(mine, 1, {[](const message&) {}});
    try {
      job.run([](int) {}, [] {});
      ADD_FAILURE() << "not refused";
    } catch (const network_error& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("unknown tag 1234"), HasSubstr("rank 1")));
    }
  });
}

}  // namespace
}  // namespace kmer
