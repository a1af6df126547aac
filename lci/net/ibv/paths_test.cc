// Unit tests of the paths of messages and of puts and gets, without a device: the queue pairs
// record the work requests, and the test says how these complete.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "lci/net/completion_sink.h"
#include "lci/net/ibv/memory.h"
#include "lci/net/ibv/message_path.h"
#include "lci/net/ibv/peer_table.h"
#include "lci/net/ibv/port.h"
#include "lci/net/ibv/regions.h"
#include "lci/net/ibv/rma_path.h"
#include "lci/net/ibv/verbs.h"
#include "lci/net/ibv/wanted_connections.h"
#include "lci/net/ibv/wire.h"
#include "lci/net/ibv/work_request.h"

namespace lci::net::ibv {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct posted {
  ibv_wr_opcode opcode;
  uint64_t wr_id;
  uint32_t imm;
  uint64_t remote_address;
  bool is_signaled;
  std::string bytes;
};

// A queue pair that records what is posted to it.
struct recording_qp {
  recording_qp() {
    context.ops.post_send = [](ibv_qp* to, ibv_send_wr* request, ibv_send_wr** refused) {
      auto* self = static_cast<recording_qp*>(to->qp_context);
      if (self->refusal != 0) {
        *refused = request;
        return self->refusal;
      }
      self->requests.push_back({request->opcode, request->wr_id, request->imm_data,
                                request->wr.rdma.remote_addr,
                                (request->send_flags & IBV_SEND_SIGNALED) != 0, ""});
      for (int i = 0; i < request->num_sge; ++i) {
        self->requests.back().bytes.append(
            reinterpret_cast<const char*>(static_cast<uintptr_t>(request->sg_list[i].addr)),
            request->sg_list[i].length);
      }
      return 0;
    };
    qp.context = &context;
    qp.qp_context = this;
  }

  ibv_context context = {};
  ibv_qp qp = {};
  int refusal = 0;
  std::vector<posted> requests;
};

struct recorded_resets : rma_links {
  base::Status reset_rma_qp(int, uint32_t first_psn) override {
    first_psns.push_back(first_psn);
    return status;
  }
  base::Status reset_rma_target_qp(int, uint32_t first_psn) override {
    target_first_psns.push_back(first_psn);
    return status;
  }

  base::Status status;
  std::vector<uint32_t> first_psns;
  std::vector<uint32_t> target_first_psns;
};

// Rank 0 with an alive peer, rank 1.
class Paths : public testing::Test {
 protected:
  static constexpr uint32_t depth = 8;
  static constexpr int peer = 1;

  Paths() {
    messages.open(memory, 0, 64);
    rma.open(64);
    peers.messages(peer).open(&message_qp.qp, queue_index(peer, false), depth);
    peers.rma(peer).open(&rma_qp.qp, queue_index(peer, true), depth);
    peers.open(peer);
    sink.reserve(depth);
  }

  errorcode_t send(const std::string& text) {
    return messages.post_inline(peer, 7, text.data(), text.size()).errorcode;
  }
  // An empty put with `imm`.
  errorcode_t put(uint32_t imm) {
    op made;
    made.kind = op_kind::put_imm;
    made.rank = peer;
    made.imm = imm;
    made.context = &contexts[imm];
    return rma.post(made).errorcode;
  }
  // The immediates of the puts that have completed.
  std::vector<uint32_t> completed(bool failed) {
    std::vector<uint32_t> found;
    completion out[2 * depth];
    sink.begin(out, 2 * depth);
    const size_t count = sink.end();
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(out[i].kind, completion_kind::put);
      EXPECT_EQ(out[i].failed, failed);
      found.push_back(static_cast<uint32_t>(static_cast<char*>(out[i].context) - contexts));
    }
    return found;
  }
  std::vector<control> sent_controls() const {
    std::vector<control> found;
    for (const posted& each : message_qp.requests) {
      found.emplace_back();
      EXPECT_TRUE(read_control(each.bytes.data(), each.bytes.size(), &found.back()));
    }
    return found;
  }
  std::vector<uint32_t> put_imms() const {
    std::vector<uint32_t> found;
    for (const posted& each : rma_qp.requests) found.push_back(decode_immediate(each.imm));
    return found;
  }
  // Puts 0, 1, 2 and 3. Put 1 is wrong; the flushed ones have come back.
  void break_rma() {
    for (uint32_t i = 0; i < 4; ++i) ASSERT_EQ(put(i), errorcode_t::posted);
    rma.completed(peer, 0, IBV_WC_SUCCESS, nullptr);
    rma.completed(peer, 1, IBV_WC_REM_ACCESS_ERR, "remote access error");
    rma.advance();
    EXPECT_THAT(sent_controls(), IsEmpty()) << "requests are still in flight";
    rma.completed(peer, 2, IBV_WC_WR_FLUSH_ERR, "flushed");
    rma.completed(peer, 3, IBV_WC_WR_FLUSH_ERR, "flushed");
  }

  const verbs library = {};
  const port local = {};
  const region_table regions{library, local, {}};
  const packet_memory memory;
  recording_qp message_qp;
  recording_qp rma_qp;
  peer_table peers{0, 2, /*one_lock=*/false};
  wanted_connections wanted{2};
  completion_sink sink;
  recorded_resets links;
  message_path messages{peers, wanted, regions, sink};
  rma_path rma{peers, wanted, regions, sink, messages, links};
  char contexts[64] = {};
};

// Messages.

TEST_F(Paths, AMessageIsOneRequest) {
  ASSERT_EQ(send("hello"), errorcode_t::done);
  ASSERT_EQ(message_qp.requests.size(), 1u);
  const posted& request = message_qp.requests[0];
  EXPECT_EQ(request.opcode, IBV_WR_SEND_WITH_IMM);
  EXPECT_EQ(request.wr_id >> 32, queue_index(peer, false));
  EXPECT_EQ(decode_immediate(request.imm), 7u);
  EXPECT_EQ(request.bytes, "hello");
}

TEST_F(Paths, AFullQueueEmptiesByItsSignaledRequests) {
  for (uint32_t i = 0; i < depth; ++i) ASSERT_EQ(send("x"), errorcode_t::done);
  EXPECT_EQ(send("x"), errorcode_t::retry_nomem);
  uint32_t last = depth;
  for (uint32_t i = 0; i < depth; ++i) {
    if (message_qp.requests[i].is_signaled) last = i;
  }
  ASSERT_EQ(last, depth - 1) << "the queue would never empty";
  messages.completed(peer, last, nullptr);
  EXPECT_TRUE(peers.messages(peer).is_empty());
  EXPECT_EQ(send("x"), errorcode_t::done);
}

TEST_F(Paths, APostSaysWhatTheStateOfThePeerAllows) {
  EXPECT_EQ(messages.post_inline(0, 0, "x", 1).errorcode, errorcode_t::retry_nomem);
  EXPECT_TRUE(wanted.any()) << "rank 0 is unconnected";
  message_qp.refusal = ENOMEM;
  EXPECT_EQ(send("x"), errorcode_t::retry_nomem);
  message_qp.refusal = EINVAL;
  EXPECT_EQ(send("x"), errorcode_t::fatal);
  message_qp.refusal = 0;
  EXPECT_EQ(send("x"), errorcode_t::done);
  peers.suspect(peer, "reason");
  EXPECT_EQ(send("x"), errorcode_t::fatal);
  EXPECT_EQ(put(0), errorcode_t::fatal);
  EXPECT_FALSE(messages.send_control(peer, {control_kind::bye, 0}));
  EXPECT_FALSE(messages.send_marker(peer));
}

TEST_F(Paths, AMessageThatDidNotArriveMakesThePeerSuspected) {
  ASSERT_EQ(send("x"), errorcode_t::done);
  messages.completed(peer, 0, "transport retry counter exceeded");
  EXPECT_EQ(peers.state(peer), peer_state::suspected);
  EXPECT_TRUE(peers.messages(peer).is_empty());
}

TEST_F(Paths, OneMarkerIsInFlight) {
  EXPECT_TRUE(messages.send_marker(peer));
  EXPECT_TRUE(messages.send_marker(peer));
  EXPECT_EQ(message_qp.requests.size(), 1u);
  messages.completed(peer, 0, nullptr);
  EXPECT_TRUE(messages.send_marker(peer));
  EXPECT_EQ(message_qp.requests.size(), 2u);
}

TEST_F(Paths, AByeIsTakenWhenItWasAcknowledged) {
  ASSERT_TRUE(messages.send_control(peer, {control_kind::bye, 0}, work::kind::bye));
  EXPECT_FALSE(messages.is_bye_taken(peer));
  messages.completed(peer, 0, nullptr);
  EXPECT_TRUE(messages.is_bye_taken(peer));
}

TEST_F(Paths, AByeThatFailedIsNotTaken) {
  ASSERT_TRUE(messages.send_control(peer, {control_kind::bye, 0}, work::kind::bye));
  messages.completed(peer, 0, "flushed");
  EXPECT_FALSE(messages.is_bye_taken(peer));
}

// Puts and gets.

TEST_F(Paths, PutsCompleteInOrder) {
  for (uint32_t i = 0; i < 3; ++i) ASSERT_EQ(put(i), errorcode_t::posted);
  EXPECT_EQ(rma_qp.requests[0].opcode, IBV_WR_RDMA_WRITE_WITH_IMM);
  EXPECT_EQ(rma_qp.requests[0].wr_id >> 32, queue_index(peer, true));
  for (uint32_t i = 0; i < 3; ++i) rma.completed(peer, i, IBV_WC_SUCCESS, nullptr);
  EXPECT_THAT(completed(false), ElementsAre(0, 1, 2));
  EXPECT_TRUE(rma.is_idle(peer));
}

TEST_F(Paths, PutsBehindAWrongOneAreRepostedWhenBothEndsAreReset) {
  ASSERT_EQ(put(9), errorcode_t::posted);
  rma.completed(peer, 0, IBV_WC_SUCCESS, nullptr);
  EXPECT_THAT(completed(false), ElementsAre(9));
  rma_qp.requests.clear();
  for (uint32_t i = 0; i < 4; ++i) ASSERT_EQ(put(i), errorcode_t::posted);
  rma.completed(peer, 1, IBV_WC_SUCCESS, nullptr);
  EXPECT_THAT(completed(false), ElementsAre(0));
  rma.completed(peer, 2, IBV_WC_REM_ACCESS_ERR, "remote access error");
  EXPECT_THAT(completed(true), ElementsAre(1));
  EXPECT_EQ(put(4), errorcode_t::retry_nomem) << "a recovery is in progress";
  rma.advance();
  EXPECT_THAT(sent_controls(), IsEmpty()) << "requests are still in flight";
  rma.completed(peer, 3, IBV_WC_WR_FLUSH_ERR, "flushed");
  rma.completed(peer, 4, IBV_WC_WR_FLUSH_ERR, "flushed");
  rma.advance();
  rma.advance();
  ASSERT_EQ(sent_controls().size(), 1u);
  EXPECT_EQ(sent_controls()[0].kind, control_kind::recover);
  rma_qp.requests.clear();
  rma.handle_recovered(peer);
  EXPECT_THAT(links.first_psns, ElementsAre(sent_controls()[0].first_psn));
  EXPECT_THAT(put_imms(), ElementsAre(2, 3));
  EXPECT_EQ(put(4), errorcode_t::posted);
  for (uint32_t i = 3; i < 6; ++i) rma.completed(peer, i, IBV_WC_SUCCESS, nullptr);
  EXPECT_THAT(completed(false), ElementsAre(2, 3, 4));
  rma.advance();
  EXPECT_FALSE(rma.has_pending());
  EXPECT_TRUE(peers.is_alive(peer));
}

TEST_F(Paths, TheTargetOfAWrongPutResetsItsEndAndAnswers) {
  rma.handle_recover(peer, 42);
  EXPECT_THAT(links.target_first_psns, ElementsAre(42));
  EXPECT_FALSE(rma.is_idle(peer)) << "the peer waits for the answer";
  message_qp.refusal = ENOMEM;
  rma.advance();
  EXPECT_TRUE(rma.has_pending());
  message_qp.refusal = 0;
  rma.advance();
  ASSERT_EQ(sent_controls().size(), 1u);
  EXPECT_EQ(sent_controls()[0].kind, control_kind::recovered);
  EXPECT_FALSE(rma.has_pending());
  EXPECT_TRUE(rma.is_idle(peer));
}

TEST_F(Paths, AnAnswerWithoutARequestIsCorrupt) {
  rma.handle_recovered(peer);
  EXPECT_EQ(peers.state(peer), peer_state::corrupt);
  EXPECT_THAT(links.first_psns, IsEmpty());
}

TEST_F(Paths, AQueuePairThatCannotBeResetMakesThePeerSuspected) {
  break_rma();
  rma.advance();
  links.status = base::UnavailableError("no route");
  rma.handle_recovered(peer);
  EXPECT_EQ(peers.state(peer), peer_state::suspected);
  EXPECT_EQ(put(5), errorcode_t::fatal);
}

TEST_F(Paths, WhenThePeerFailsDuringARecoveryTheFlushedPutsFail) {
  break_rma();
  EXPECT_EQ(put(5), errorcode_t::retry_nomem);
  peers.suspect(peer, "reason");
  completion out[depth];
  sink.begin(out, depth);
  EXPECT_EQ(sink.end(), 2u) << "puts 0 and 1";
  rma.stop(peer);
  EXPECT_THAT(completed(true), ElementsAre(2, 3));
  EXPECT_TRUE(peers.rma(peer).is_empty());
  rma.advance();
  EXPECT_FALSE(rma.has_pending());
  EXPECT_THAT(sent_controls(), IsEmpty());
}

TEST_F(Paths, AnErrorThatIsNotOfTheMemoryMakesThePeerSuspected) {
  ASSERT_EQ(put(0), errorcode_t::posted);
  rma.completed(peer, 0, IBV_WC_RETRY_EXC_ERR, "transport retry counter exceeded");
  EXPECT_EQ(peers.state(peer), peer_state::suspected);
  EXPECT_THAT(completed(true), ElementsAre(0));
  EXPECT_FALSE(rma.has_pending());
}

}  // namespace
}  // namespace lci::net::ibv
