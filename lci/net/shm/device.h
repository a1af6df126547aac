#ifndef LCI_NET_SHM_DEVICE_H_
#define LCI_NET_SHM_DEVICE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "lci/base/status.h"
#include "lci/ds/biased_lock.h"
#include "lci/net/backend.h"
#include "lci/net/peer_health.h"
#include "lci/net/shm/context.h"
#include "lci/net/shm/cooperative_copy.h"
#include "lci/net/shm/large_puts.h"
#include "lci/net/shm/requests.h"
#include "lci/net/shm/ring.h"
#include "lci/net/shm/segment.h"

namespace lci::net::shm {

// This rank's mailbox, which has a ring for every rank to write to, and views of the mailboxes of
// all ranks, each with a ring for this rank. Thread safety: as net::device says. A post takes the
// lock of the one ring that it writes to, a poll that of the device; both only try. A release takes
// none.
class shm_device final : public device {
 public:
  static base::StatusOr<std::unique_ptr<device>> make(shm_context& context, boot::bootstrap& boot,
                                                      const device_config& config);
  ~shm_device() override;

  error_t post(const op& operation) override;
  error_t post_short(short_op what, net_imm_data_t imm, void* buffer, size_t size,
                     const remote_place* where) override;
  bool add(int rank, remote_region remote, uint64_t remote_offset, int64_t value) override;
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

 private:
  // The completions that one poll has room for.
  struct batch {
    completion* next;
    completion* const end;
    bool moved = false;

    bool full() const { return next == end; }
  };

  shm_device(shm_context& context, const device_config& config);
  base::Status connect(boot::bootstrap& boot, const device_config& config);
  base::Status connect(int rank, const std::string& offer, uint32_t shift, size_t max_size);

  error_t send(int rank, net_imm_data_t imm, const iovec& message);
  error_t post_remote_copy(const op& operation);
  error_t post_message(short_op what, net_imm_data_t imm, void* buffer, size_t size);
  error_t post_rma_short(short_op what, net_imm_data_t imm, void* buffer, size_t size,
                         const remote_place* where);
  error_t copy_short(short_op what, void* buffer, size_t size, const remote_place& where);
  error_t put_imm_short(int rank, net_imm_data_t imm, const void* buffer, size_t size,
                        const remote_place& where);
  unsigned char* find_mapped(int rank, const remote_place& where, size_t size) const;
  error_t post_inline_put_imm(const op& operation, ring_writer& to);
  error_t post_large(const op& operation, uint64_t remote, ring_writer& to);
  error_t full(int rank) const;
  // There is more to wait for than a message.
  void needs_polls() { next_event_.store(nullptr, std::memory_order_relaxed); }

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
  void check_for_failures();
  void check_for_other_programs();
  void report_failures(batch* out);
  bool report_failure(int rank, batch* out);

  ring_writer& writer(int rank) { return writers_[static_cast<size_t>(rank)]; }
  ring_reader& reader(int rank) const { return readers_[static_cast<size_t>(rank)]; }

  shm_context& context_;
  const int ranks_;
  const size_t piece_;                  // bytes of a put that travel in one message, at most
  const size_t cooperative_copy_size_;  // see device_config
  // By rank, this rank included. Ranks that are threads of one process share one mapping: race
  // detectors go by the address, and would not see the order that the rings make otherwise.
  std::vector<std::shared_ptr<segment>> mailboxes_;
  std::unique_ptr<ring_writer[]> writers_;  // by rank
  std::unique_ptr<ring_reader[]> readers_;  // by rank
  // A peer is suspected when its process is gone, and never `left`: its ring says whether it has
  // ended its device (ring_reader::sender_closed).
  peer_health health_;
  large_puts large_puts_;
  request_table requests_;
  cooperative_copies cooperative_;
  bool connected_ = false;

  alignas(cache_line_size) ds::biased_lock poll_lock_;  // guards what follows
  int next_rank_ = 0;                                   // where the next poll begins
  int active_rank_;                                     // sender of the last message; or this rank
  uint32_t polls_ = 0;
  uint32_t last_found_ = 0;  // polls_ when something was found last
  int next_check_ = 0;       // the rank whose program was checked last
  region_table::user region_user_;
};

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_DEVICE_H_
