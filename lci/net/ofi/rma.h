#ifndef LCI_NET_OFI_RMA_H_
#define LCI_NET_OFI_RMA_H_

#include <cstddef>
#include <cstdint>

#include "lci/base/cache_aligned.h"
#include "lci/net/backend.h"
#include "lci/net/ofi/core.h"
#include "lci/net/ofi/immediate.h"
#include "lci/net/ofi/packet_path.h"
#include "lci/net/ofi/packets.h"
#include "lci/net/ofi/provider.h"
#include "lci/net/ofi/regions.h"
#include "lci/net/ofi/requests.h"
#include "lci/net/ofi/wire.h"

namespace lci::net::ofi {

// A read or write of the provider: of our own post, or on request of a peer.
struct access : operation {  // rank is -1 while it is free
  bool is_local = false;     // of our own post
  bool abandoned = false;    // its completion was delivered when the rank failed
  op_kind kind = op_kind::put;
  bool notifies = false;  // of our own post: a record notifies the target after the completion
  uint32_t imm = 0;
  void* user_context = nullptr;
  deferred_answer asked;
  region_table::region* region = nullptr;  // that counts it; null for one of our own post
};

// Puts and gets of a device: executed by the provider (an access), or by the target on request,
// which wire.h describes (rma_mode says which). Answers to requests wait for send_deferred().
//
// Thread safety: the caller holds the device's lock.
class rma {
 public:
  // `message_bytes`: of a packet with one message of any size. `limits` outlives the object.
  rma(device_core& core, packet_path& packets, region_table& regions, const provider& from,
      const device_limits& limits, const queue_lengths& queues, size_t message_bytes);

  ~rma();
  rma(const rma&) = delete;
  rma& operator=(const rma&) = delete;

  // As device::post, for a rank that is alive.
  error_t post(const op& operation);

  // Records of a peer, while the poll in progress has room for a completion. Returns false if the
  // record is malformed.
  bool take_request(int rank, const incoming_record& record);
  bool take_reply(int rank, const incoming_record& record);

  // Entries of the completion queue. `code`: libfabric's error, negative.
  void access_done(access& finished) { end_access(finished, /*failed=*/false); }
  void access_failed(access& failed, int64_t code);

  // Sends the answers that are owed to a rank. Returns whether some are left.
  bool send_deferred(int rank);
  bool owes_answers(int rank) const { return !answers_.empty(rank); }

  // Whether no access is under way.
  bool is_idle() const { return free_accesses_.size() == access_count_; }
  // Whether there is no request to the rank, and no answer is owed to it.
  bool is_idle(int rank) const { return requests_.is_empty(rank) && answers_.empty(rank); }

  // Ends all operations that wait for a rank that has failed or ended.
  void forget(int rank);

 private:
  error_t post_to_self(const op& operation);
  error_t post_native(const op& operation);
  error_t post_request(const op& operation);
  access* take_access(claim by);
  void give_back(access& finished);
  static void stop_counting(access& finished);
  void end_access(access& finished, bool failed);
  void owe(int rank, const deferred_answer& owed);
  void suspect(int rank, int64_t code);
  bool answer(int rank, const deferred_answer& front);
  bool start_access(int rank, const deferred_answer& front);

  device_core& core_;
  packet_path& packets_;
  region_table& regions_;
  const device_limits& limits_;
  const rma_mode mode_;
  // Latency-critical puts are written directly, although other puts are asked of the target.
  const bool writes_latency_critical_;
  const immediate_layout immediate_;
  const queue_lengths queues_;
  const size_t message_bytes_;
  request_table requests_;
  answer_queue answers_;
  const size_t access_count_;
  base::aligned_array<access> accesses_;
  base::aligned_vector<access*> free_accesses_;
};

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_RMA_H_
