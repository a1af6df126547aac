// Beyond the conformance suite: large puts of a program, whose target may help to copy them or not.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lci/net/shm/backend.h"
#include "lci/net/shm/wire.h"
#include "lci/testing/conformance/operations.h"
#include "lci/testing/conformance/suite.h"

namespace lci::net::conformance {
namespace {

class ShmPutsWithoutProgress : public Conformance {};

constexpr size_t size = 100001;
// More than may be shared with the target before that makes progress.
constexpr size_t puts = shm::cooperative_slots + 4;

// Rank 0 puts to rank 1, which polls meanwhile, or only when all puts are complete.
void put_many(rank_under_test& self, op_kind kind, bool target_polls) {
  std::vector<unsigned char> memory(puts * size);
  const auto opened = self.network.register_memory(memory.data(), memory.size());
  ASSERT_TRUE(opened.ok());
  const remote_region remote = self.exchange(self.network.remote_key(*opened))[1];
  size_t completed = 0;
  std::vector<net_imm_data_t> notified;
  const auto see = [&](const completion& c) {
    EXPECT_FALSE(c.failed);
    if (c.kind == completion_kind::remote_put) {
      notified.push_back(c.imm);
    } else {
      ++completed;
    }
  };
  if (self.rank == 0) {
    std::vector<unsigned char> bytes = make_bytes(0, size, size);
    size_t posted = 0;
    for (size_t i = 0; i < puts; ++i) {
      op put;
      put.kind = kind;
      put.rank = 1;
      put.imm = static_cast<net_imm_data_t>(i);
      put.buffer = bytes.data();
      put.size = size;
      put.remote = remote;
      put.remote_offset = i * size;
      put.context = &bytes;
      const error_t result = self.post(put, see);
      ASSERT_TRUE(result.is_done() || result.is_posted());
      posted += result.is_posted() ? 1 : 0;
    }
    // (Of a target that does not poll, none is posted.)
    self.poll_until([&] { return completed == posted; }, see);
    if (!target_polls) {
      EXPECT_EQ(posted, 0u);
      self.barrier();
    }
  } else if (!target_polls) {
    self.barrier();
  }
  const size_t expected = self.rank == 1 && kind == op_kind::put_imm ? puts : 0;
  self.poll_until([&] { return notified.size() == expected; }, see);
  self.polling_barrier(see);
  for (size_t i = 0; i < expected; ++i) EXPECT_EQ(notified[i], i);
  if (self.rank == 1) {
    for (size_t i = 0; i < puts; ++i) {
      EXPECT_TRUE(has_bytes(memory.data() + i * size, 0, size, size)) << "put " << i;
    }
  }
  self.network.deregister_memory(*opened);
}

TEST_P(ShmPutsWithoutProgress, AreCompleteWithoutTheTarget) {
  run_processes(0, [](rank_under_test& self) { put_many(self, op_kind::put, false); });
}

TEST_P(ShmPutsWithoutProgress, AreNotifiedWhenTheTargetPolls) {
  run_processes(0, [](rank_under_test& self) { put_many(self, op_kind::put_imm, false); });
}

TEST_P(ShmPutsWithoutProgress, MayBeSharedWithTheTarget) {
  run_processes(0, [](rank_under_test& self) {
    for (const op_kind kind : {op_kind::put, op_kind::put_imm}) put_many(self, kind, true);
  });
}

INSTANTIATE_TEST_SUITE_P(Shm, ShmPutsWithoutProgress,
                         testing::Values(backend_under_test{"shm", &shm::backend, 2, true}),
                         name_of);

}  // namespace
}  // namespace lci::net::conformance
