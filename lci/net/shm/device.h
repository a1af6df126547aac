#ifndef LCI_NET_SHM_DEVICE_H_
#define LCI_NET_SHM_DEVICE_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "lci/ds/spinlock.h"
#include "lci/net/backend.h"
#include "lci/net/shm/context.h"
#include "lci/net/shm/ring.h"
#include "lci/net/shm/segment.h"

namespace lci::net::shm {

// A mailbox of our own with a ring for every rank to write to, and a view of everybody's mailbox to
// write to ours in it. Thread safety: as net::device says. A post takes the lock of the one ring
// that it writes to, a poll that of the device; both only try.
class shm_device final : public device {
 public:
  static absl::StatusOr<std::unique_ptr<device>> make(shm_context& context, boot::bootstrap& boot,
                                                      const device_config& config);
  ~shm_device() override;

  error_t post(const op& operation) override;
  error_t poll(completion* out, size_t max, size_t* count) override;
  void release(const completion& received) override;
  bool drained() override { return true; }  // every post is complete when it returns

 private:
  enum class peer_state : uint8_t { alive, failed, reported };

  shm_device(shm_context& context, const device_limits& limits);

  error_t post_send(const op& operation);
  error_t post_rma(const op& operation);
  void take(int rank, const incoming& message, completion* out);
  size_t report_failures(completion* out, size_t max);
  void look_for_failures();
  void fail(int rank, const char* reason);
  bool alive(int rank) const {
    return states_[static_cast<size_t>(rank)].load(std::memory_order_acquire) == peer_state::alive;
  }

  shm_context& context_;
  // By rank, ours among them. Ranks that are threads of one process share one mapping: race
  // detectors go by the address, and would not see the order that the rings make otherwise.
  std::vector<std::shared_ptr<segment>> mailboxes_;
  std::unique_ptr<ring_writer[]> writers_;  // by rank
  std::unique_ptr<ring_reader[]> readers_;  // by rank
  std::unique_ptr<std::atomic<peer_state>[]> states_;
  std::atomic<bool> unreported_{false};  // some state is `failed`

  alignas(line_size) ds::spinlock poll_lock_;
  int next_rank_ = 0;   // guarded by poll_lock_: where the next poll begins
  uint32_t polls_ = 0;  // guarded by poll_lock_
  std::chrono::steady_clock::time_point last_look_;  // guarded by poll_lock_
};

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_DEVICE_H_
