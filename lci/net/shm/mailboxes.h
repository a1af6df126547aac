#ifndef LCI_NET_SHM_MAILBOXES_H_
#define LCI_NET_SHM_MAILBOXES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "lci/base/status.h"
#include "lci/boot/bootstrap.h"
#include "lci/net/backend.h"
#include "lci/net/shm/context.h"
#include "lci/net/shm/segment.h"
#include "lci/net/shm/wire.h"

namespace lci::net::shm {

// The shared memory of one device: the mailbox of this rank and views of the mailboxes of its
// peers. A mailbox has `lanes()` complete sets of rings, each with one ring for every sending rank.
//
// Thread safety: all members by any thread at any time.
class mailboxes {
 public:
  // Collective. Messages have up to `max_size` bytes. If `valid` is an error, all ranks return it.
  static base::StatusOr<std::unique_ptr<mailboxes>> make(shm_context& context,
                                                         boot::bootstrap& boot,
                                                         const device_config& config,
                                                         size_t max_size,
                                                         const base::Status& valid);

  // A power of two, at most max_lanes; equal on all ranks.
  uint32_t lanes() const { return lanes_; }
  // The cells of each ring, as a power of two.
  uint32_t ring_shift() const { return shift_; }

  // The ring in the mailbox of `owner` that `sender` writes to.
  ring_control* control(int owner, uint32_t lane, int sender) const;
  cooperative_slot* slots(int owner, uint32_t lane, int sender) const;
  cell* cells(int owner, uint32_t lane, int sender) const;

  // Of a lane in the mailbox of `owner`.
  std::atomic<uint32_t>& pulse(int owner, uint32_t lane) const {
    return header(owner).pulses[lane].polls;
  }

  // Tells every rank that this rank uses that lane.
  void use(uint32_t lane) const;
  // Bit i: some rank has used lane i of this rank's mailbox.
  uint64_t in_use() const {
    return own_header_->lanes_in_use.load(std::memory_order_acquire) & all_lanes();
  }
  uint64_t all_lanes() const { return ~uint64_t{0} >> (max_lanes - lanes_); }

 private:
  mailboxes(int rank, int ranks) : rank_(rank), segments_(static_cast<size_t>(ranks)) {}
  // The mailbox of a rank, unless that is hidden; and the one whose descriptor it has passed.
  base::Status open(const shm_context& context, int rank, const mailbox_offer& offer);
  base::Status adopt(int rank, const mailbox_offer& offer, int descriptor);
  base::Status keep(int rank, base::StatusOr<segment> view);
  size_t bytes_of(const mailbox_offer& offer) const;
  mailbox_header& header(int owner) const {
    return *reinterpret_cast<mailbox_header*>(segments_[static_cast<size_t>(owner)]->data());
  }

  const int rank_;
  uint32_t lanes_ = 1;
  uint32_t shift_ = 0;
  const mailbox_header* own_header_ = nullptr;
  // By owner, this rank included. Ranks that are threads of one process share one mapping: race
  // detectors go by the address, and would not see the order that the rings make otherwise.
  std::vector<std::shared_ptr<segment>> segments_;
};

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_MAILBOXES_H_
