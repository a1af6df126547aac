// Beyond the conformance suite: small puts to memory that other processes do not map, and that is
// closed before they are taken.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lci/net/shm/backend.h"
#include "lci/net/shm/wire.h"
#include "lci/testing/conformance/operations.h"
#include "lci/testing/conformance/suite.h"

namespace lci::net::conformance {
namespace {

class ShmInlinePuts : public Conformance {};

using shm::next_put_reach;

constexpr size_t room = 5000;

// Rank 1 puts to rank 0 and then sends a message. Rank 0 polls when both are there, and the memory
// is closed then, or not.
void put_and_send(rank_under_test& self, size_t size, bool is_closed) {
  std::vector<unsigned char> memory(room);
  const auto opened = self.network.register_memory(memory.data(), room);
  ASSERT_TRUE(opened.ok());
  const remote_region remote = self.exchange(self.network.remote_key(*opened))[0];
  if (self.rank == 1) {
    std::vector<unsigned char> bytes = make_bytes(1, size, size);
    op put;
    put.kind = op_kind::put_imm;
    put.rank = 0;
    put.imm = 5;
    put.buffer = bytes.data();
    put.size = size;
    put.remote = remote;
    put.remote_offset = 100;
    EXPECT_TRUE(self.dev.post(put).is_done());
    EXPECT_TRUE(self.dev.post(make_send(0, bytes.data(), 8, 7)).is_done());
  }
  self.barrier();
  if (self.rank == 0) {
    if (is_closed) self.network.deregister_memory(*opened);
    std::vector<completion> found;
    while (found.empty() || found.back().kind != completion_kind::recv) {
      completion each[4];
      size_t count = 0;
      static_cast<void>(self.dev.poll(each, 4, &count));
      for (size_t i = 0; i < count; ++i) {
        found.push_back(each[i]);
        if (each[i].kind == completion_kind::recv) self.dev.release(each[i]);
      }
    }
    EXPECT_EQ(found.back().imm, 7u);
    ASSERT_EQ(found.size(), is_closed ? 1u : 2u);
    if (!is_closed) {
      EXPECT_EQ(found[0].kind, completion_kind::remote_put);
      EXPECT_EQ(found[0].rank, 1);
      EXPECT_EQ(found[0].imm, 5u);
    }
    EXPECT_EQ(has_bytes(&memory[100], 1, size, size), !is_closed);
    EXPECT_EQ(memory[99], 0);
    EXPECT_EQ(memory[100 + size], 0);
  }
  self.barrier();
  if (self.rank != 0 || !is_closed) self.network.deregister_memory(*opened);
  self.barrier();
}

// For several laps of the ring, so that some puts are behind a pad.
TEST_P(ShmInlinePuts, AreNotifiedUnlessTheirMemoryIsClosed) {
  run_processes(0, [](rank_under_test& self) {
    for (int round = 0; round < 400; ++round) {
      for (const size_t size : {8, 40, 41, 4000}) put_and_send(self, size, round % 4 == 0);
    }
  });
}

// Puts to places of two memories, near the last place and far from it, of sizes that have the short
// form and others. Rank 0 polls while rank 1 posts.
void put_to_many_places(rank_under_test& self) {
  constexpr size_t large = next_put_reach + 4096;
  constexpr uint32_t puts = 6000;
  std::vector<unsigned char> memory[2] = {std::vector<unsigned char>(large),
                                          std::vector<unsigned char>(large)};
  remote_region remote[2];
  local_region opened[2];
  for (int m = 0; m < 2; ++m) {
    opened[m] = self.network.register_memory(memory[m].data(), large).value();
    remote[m] = self.exchange(self.network.remote_key(opened[m]))[0];
  }
  struct place {
    size_t memory;
    size_t offset;
    size_t size;
  };
  const auto place_of = [](uint32_t i) {
    constexpr size_t sizes[] = {8, 0, 8, 40, 8, 41, 1, 8, 300};
    constexpr size_t begins[] = {0, 64, next_put_reach - 1, 128, next_put_reach + 100, 1};
    return place{i / 7 % 2, begins[i / 2 % 6] + i % 50, sizes[i % 9]};
  };
  if (self.rank == 1) {
    for (uint32_t i = 0; i < puts; ++i) {
      const place to = place_of(i);
      std::vector<unsigned char> bytes = make_bytes(1, i, to.size);
      op put;
      put.kind = op_kind::put_imm;
      put.rank = 0;
      put.imm = i;
      put.buffer = bytes.data();
      put.size = to.size;
      put.remote = remote[to.memory];
      put.remote_offset = to.offset;
      const remote_place where{put.remote, put.remote_offset};
      error_t result = errorcode_t::retry;
      while (result.is_retry()) {
        // Every fifth one goes the way of a post that is not short.
        if (i % 5 != 0) {
          result = self.dev.post_short({0, op_kind::put_imm}, i, bytes.data(), to.size, &where);
        } else {
          result = self.dev.post(put);
        }
      }
      ASSERT_TRUE(result.is_done()) << i;
    }
  } else {
    for (uint32_t i = 0; i < puts;) {
      completion each[4];
      size_t count = 0;
      static_cast<void>(self.dev.poll(each, 1 + i % 4, &count));
      for (size_t c = 0; c < count; ++c, ++i) {
        ASSERT_EQ(each[c].kind, completion_kind::remote_put);
        ASSERT_EQ(each[c].imm, i);
      }
      // Only the last of those that came together is certainly not written over.
      if (count == 0) continue;
      const place last = place_of(i - 1);
      EXPECT_TRUE(has_bytes(&memory[last.memory][last.offset], 1, i - 1, last.size)) << i;
    }
  }
  self.barrier();
  for (const local_region one : opened) self.network.deregister_memory(one);
  self.barrier();
}

TEST_P(ShmInlinePuts, ReachManyPlaces) { run_processes(0, put_to_many_places); }

INSTANTIATE_TEST_SUITE_P(Shm, ShmInlinePuts,
                         testing::Values(backend_under_test{"shm", &shm::backend, 2, true}),
                         name_of);

}  // namespace
}  // namespace lci::net::conformance
