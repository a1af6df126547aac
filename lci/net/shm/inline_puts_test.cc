// Beyond the conformance suite: small puts to memory that other processes do not map, and that is
// closed before they are taken.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lci/net/shm/backend.h"
#include "lci/testing/conformance/operations.h"
#include "lci/testing/conformance/suite.h"

namespace lci::net::conformance {
namespace {

class ShmInlinePuts : public Conformance {};

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

INSTANTIATE_TEST_SUITE_P(Shm, ShmInlinePuts,
                         testing::Values(backend_under_test{"shm", &shm::backend, 2, true}),
                         name_of);

}  // namespace
}  // namespace lci::net::conformance
