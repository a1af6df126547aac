#ifndef LCI_NET_SHM_DEVICE_H_
#define LCI_NET_SHM_DEVICE_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "lci/base/status.h"
#include "lci/ds/biased_lock.h"
#include "lci/net/backend.h"
#include "lci/net/peer_health.h"
#include "lci/net/shm/context.h"
#include "lci/net/shm/cooperative_copy.h"
#include "lci/net/shm/get_selector.h"
#include "lci/net/shm/inline_put_imm.h"
#include "lci/net/shm/lane_failures.h"
#include "lci/net/shm/large_puts.h"
#include "lci/net/shm/mailboxes.h"
#include "lci/net/shm/requests.h"
#include "lci/net/shm/ring.h"

namespace lci::net::shm {

// What the lanes of a device share.
struct lanes_common {
  lanes_common(std::unique_ptr<mailboxes> made, int ranks)
      : boxes(std::move(made)), failures(ranks, boxes->lanes()), selectors(ranks) {}

  const std::unique_ptr<mailboxes> boxes;
  lane_failures failures;
  get_selectors selectors;
};

// One lane of a device: a set of rings in this rank's mailbox, one for every rank to write to, and
// the same set in the mailboxes of all ranks, each with a ring for this rank. Most devices have one
// lane; laned_device has several. Thread safety: as net::device says. A post takes the lock of the
// one ring that it writes to, a poll that of the lane; both only try. A release takes none.
class shm_device final : public device {
 public:
  // Makes a device with as many lanes as the attribute shm_lanes says.
  static base::StatusOr<std::unique_ptr<device>> make(shm_context& context, boot::bootstrap& boot,
                                                      const device_config& config);
  // `limits`: equal for all lanes. `seen`: what this lane's glances look at, which outlives it; null:
  // the device's own.
  shm_device(shm_context& context, const device_config& config, const device_limits& limits,
             std::shared_ptr<lanes_common> common, uint32_t lane, outlook* seen);
  ~shm_device() override;

  // The lane whose lease that is.
  static uint32_t lane_of(const completion& received) {
    return static_cast<uint32_t>(received.lease >> lane_shift) & (max_lanes - 1);
  }

  error_t post(const op& operation) override;
  error_t post_short(short_op what, net_imm_data_t imm, void* buffer, size_t size,
                     const remote_place* where) override;
  bool add(int rank, remote_region remote, uint64_t remote_offset, int64_t value) override;
  bool is_got_sooner(int rank, size_t size, bool alone) const override;
  void came(int rank, size_t size, bool got, std::chrono::nanoseconds time) override;
  bool read_memory(int rank, void* to, uint64_t from, size_t size) override {
    return health_.is_alive(rank) && context_.read_memory(rank, to, from, size);
  }
  void* mapped_address(int rank, remote_region remote, uint64_t remote_offset,
                       size_t size) override;
  error_t poll(completion* out, size_t max, size_t* count) override;
  void release(const completion& received) override;
  // Every post is complete when it returns, or waits for the peer; but peers may wait for replies.
  bool drained() override { return requests_.idle(); }
  bool has_left(int rank) override {
    return health_.is_alive(rank) && reader(rank).sender_closed();
  }
  bool has_died(int rank) override { return context_.rank_at(rank).has_died(); }
  std::optional<bool> has_arrivals() override;

 private:
  // The completions that one poll has room for.
  struct batch {
    completion* next;
    completion* const end;
    bool moved = false;

    bool full() const { return next == end; }
  };

  // A lease is the lane, the rank that the message came from, and its first cell in that rank's
  // ring. (The upmost bit belongs to the mixed backend.)
  static constexpr int lane_shift = 56;
  static constexpr int rank_shift = 32;
  uint64_t make_lease(int rank, uint32_t first_cell) const {
    return lease_base_ | static_cast<uint64_t>(rank) << rank_shift | first_cell;
  }
  static int rank_of(uint64_t lease) {
    return static_cast<int>(lease >> rank_shift) & ((1 << (lane_shift - rank_shift)) - 1);
  }

  error_t send(int rank, net_imm_data_t imm, const iovec& message);
  error_t post_remote_copy(const op& operation);
  error_t post_message(short_op what, net_imm_data_t imm, void* buffer, size_t size);
  error_t post_rma_short(short_op what, net_imm_data_t imm, void* buffer, size_t size,
                         const remote_place* where);
  error_t copy_short(short_op what, void* buffer, size_t size, const remote_place& where);
  error_t put_imm_short(int rank, net_imm_data_t imm, const void* buffer, size_t size,
                        const remote_place& where);
  error_t put_imm_elsewhere(int rank, net_imm_data_t imm, const void* buffer, size_t size,
                            const remote_place& where);
  unsigned char* find_mapped(int rank, const remote_place& where, size_t size) const;
  error_t post_inline_put_imm(const op& operation, const open_bytes& open, ring_writer& to);
  error_t post_put_of_program(const op& operation, uint64_t remote);
  error_t post_large(const op& operation, uint64_t remote, ring_writer& to);
  error_t full(int rank) const;
  // There is more to wait for than a message.
  void needs_polls() { seen_.event.store(nullptr, std::memory_order_relaxed); }

  error_t poll_all(completion* out, size_t max, size_t* count);
  void expect_lines(const ring_reader& from, const completion& last);
  size_t take_next(ring_reader& from, int rank, completion* out, size_t max);
  size_t take_common(ring_reader& from, int rank, completion* out, size_t max);
  bool take_more(ring_reader& from, int rank, completion** next, completion* end);
  bool visit(int rank, batch* out);
  bool read(int rank, batch* out);
  bool take(int rank, incoming message, batch* out);
  // Writes what is owed to peers, or was begun, as far as there is room.
  void move_streams();
  void finish_cooperative(batch* out);
  void check_for_failures(batch* out);
  void check_for_other_programs();
  void suspect(int rank, const char* reason);
  void suspect_announced();
  void report_failures(batch* out);
  bool end_operations(int rank, batch* out);
  bool report_failure(int rank, batch* out);

  ring_writer& writer(int rank) const { return writers_[static_cast<size_t>(rank)]; }
  ring_reader& reader(int rank) const { return readers_[static_cast<size_t>(rank)]; }
  put_place& last_put_to(int rank) const { return puts_to_[static_cast<size_t>(rank)]; }
  put_place& last_put_from(int rank) const { return puts_from_[static_cast<size_t>(rank)]; }

  shm_context& context_;
  const int ranks_;
  const size_t piece_;                  // bytes of a put that travel in one message, at most
  const size_t cooperative_copy_size_;  // see device_config
  const std::shared_ptr<lanes_common> common_;
  const uint64_t lease_base_;  // of a lease, the lane
  outlook& seen_;
  std::unique_ptr<ring_writer[]> writers_;  // by rank
  std::unique_ptr<ring_reader[]> readers_;  // by rank
  std::unique_ptr<put_place[]> puts_to_;    // by rank; each under the lock of the ring to that rank
  // A peer is suspected when its process is gone, and never `left`: its ring says whether it has
  // ended its device (ring_reader::sender_closed).
  peer_health health_;
  large_puts large_puts_;
  request_table requests_;
  cooperative_copies cooperative_;

  alignas(cache_line_size) ds::biased_lock poll_lock_;  // guards what follows
  int next_rank_ = 0;                                   // where the next poll begins
  std::atomic<uint32_t>& pulse_;                        // in the mailbox
  int active_rank_;                                     // sender of the last message; or this rank
  uint32_t polls_ = 0;
  uint32_t last_found_ = 0;     // polls_ when something was found last
  int next_check_ = 0;          // the rank whose program was checked last
  uint32_t failures_seen_ = 0;  // version of common_->failures
  region_table::user region_user_;
  std::unique_ptr<put_place[]> puts_from_;  // by rank
};

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_DEVICE_H_
