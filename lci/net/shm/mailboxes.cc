#include "lci/net/shm/mailboxes.h"

#include <unistd.h>

#include <cstring>
#include <string>
#include <utility>

#include "lci/base/strings.h"
#include "lci/net/capacity.h"
#include "lci/net/exchange.h"
#include "lci/net/shm/lane_count.h"

namespace lci::net::shm {
namespace {

// Of how many cells a mailbox' rings are, as a power of two.
uint32_t choose_ring_shift(size_t max_size, int ranks) {
  const size_t wanted = net::ring_bytes(span_of(max_size) * cell_size, ranks);
  uint32_t shift = 6;
  while (cell_size << shift < wanted) ++shift;
  return shift;
}

size_t bytes_of_ring(uint32_t shift) {
  return sizeof(ring_control) + cooperative_slots * sizeof(cooperative_slot) +
         (sizeof(cell) << shift);
}

size_t mailbox_bytes(uint32_t shift, int ranks, uint32_t lanes) {
  const size_t bytes =
      mailbox_header_bytes + lanes * static_cast<size_t>(ranks) * bytes_of_ring(shift);
  return (bytes + page_size - 1) / page_size * page_size;
}

}  // namespace

base::StatusOr<std::unique_ptr<mailboxes>> mailboxes::make(shm_context& context,
                                                           boot::bootstrap& boot,
                                                           const device_config& config,
                                                           size_t max_size,
                                                           const base::Status& valid) {
  const int ranks = context.size();
  std::unique_ptr<mailboxes> made(new mailboxes(context.rank(), ranks));
  made->shift_ = choose_ring_shift(max_size, ranks);
  std::shared_ptr<segment>& own = made->segments_[static_cast<size_t>(context.rank())];

  const auto offer = [&]() -> base::StatusOr<std::string> {
    mailbox_offer local = {};
    set_processors(&local);
    // Programs that allocate several devices mostly use each with one thread.
    const int lanes = config.attr.shm_lanes;
    local.wanted_lanes = static_cast<uint32_t>(lanes != 0 ? lanes : config.uid == 0 ? 0 : 1);
    local.lanes = most_lanes(local);
    base::StatusOr<segment> mailbox =
        segment::create("lci-mailbox", mailbox_bytes(made->shift_, ranks, local.lanes));
    if (!mailbox.ok()) return mailbox.status();
    own = std::make_shared<segment>(*std::move(mailbox));
    local.mailbox = own->name();
    local.ring_cells = uint64_t{1} << made->shift_;
    local.shared = reinterpret_cast<uintptr_t>(&own);
    return std::string(reinterpret_cast<const char*>(&local), sizeof(local));
  };
  std::vector<mailbox_offer> offers(static_cast<size_t>(ranks));
  const auto accept = [&](int r, const std::string& offered) {
    mailbox_offer& theirs = offers[static_cast<size_t>(r)];
    base::Status status = base::OkStatus();
    if (offered.size() != sizeof(theirs)) {
      status = base::FailedPreconditionError("offers no mailbox");
    } else {
      std::memcpy(&theirs, offered.data(), sizeof(theirs));
      status = made->open(context, r, theirs);
    }
    if (status.ok()) return status;
    return base::WithPrefix(base::StrCat("device ", config.uid, ", "), context.reason(r, status));
  };
  // No rank closes its descriptor, or ends, before all ranks have opened it.
  const std::string name = base::StrCat("shm-mailbox-", config.uid);
  base::Status status = exchange_and_accept(
      boot, name, valid.ok() ? offer() : base::StatusOr<std::string>(valid), accept);
  if (!status.ok()) return status;
  status = context.pass(base::StrCat(name, "-descriptors"), {own->name().descriptor},
                        [&](int r, const std::vector<int>& given) {
                          return made->adopt(r, offers[static_cast<size_t>(r)], given[0]);
                        });
  if (!status.ok()) return status;
  own->close_descriptor();
  made->lanes_ = choose_lanes(offers);
  made->own_header_ = &made->header(context.rank());
  return made;
}

base::Status mailboxes::open(const shm_context& context, int rank, const mailbox_offer& offer) {
  if (offer.ring_cells != uint64_t{1} << shift_) {
    return base::FailedPreconditionError(
        "has another packet size; give all ranks the same attributes");
  }
  if (offer.lanes < 1 || offer.lanes > max_lanes) {
    return base::FailedPreconditionError(
        base::StrCat("offers a mailbox of ", offer.lanes, " lanes, not 1 to ", max_lanes));
  }
  const peer& other = context.rank_at(rank);
  if (rank != rank_ && other.pid == getpid()) {
    segments_[static_cast<size_t>(rank)] =
        *reinterpret_cast<const std::shared_ptr<segment>*>(offer.shared);
  } else if (rank != rank_ && !other.is_hidden) {
    return keep(rank, segment::open(other.process.pid, offer.mailbox, bytes_of(offer),
                                    /*writable=*/true));
  }
  return base::OkStatus();
}

base::Status mailboxes::adopt(int rank, const mailbox_offer& offer, int descriptor) {
  return keep(rank, segment::adopt(descriptor, offer.mailbox.token, bytes_of(offer),
                                   /*writable=*/true));
}

base::Status mailboxes::keep(int rank, base::StatusOr<segment> view) {
  if (!view.ok()) return view.status();
  segments_[static_cast<size_t>(rank)] = std::make_shared<segment>(*std::move(view));
  return base::OkStatus();
}

size_t mailboxes::bytes_of(const mailbox_offer& offer) const {
  return mailbox_bytes(shift_, static_cast<int>(segments_.size()), offer.lanes);
}

ring_control* mailboxes::control(int owner, uint32_t lane, int sender) const {
  const size_t number = lane * segments_.size() + static_cast<size_t>(sender);
  return reinterpret_cast<ring_control*>(segments_[static_cast<size_t>(owner)]->data() +
                                         mailbox_header_bytes + number * bytes_of_ring(shift_));
}

cooperative_slot* mailboxes::slots(int owner, uint32_t lane, int sender) const {
  return reinterpret_cast<cooperative_slot*>(control(owner, lane, sender) + 1);
}

cell* mailboxes::cells(int owner, uint32_t lane, int sender) const {
  return reinterpret_cast<cell*>(slots(owner, lane, sender) + cooperative_slots);
}

void mailboxes::use(uint32_t lane) const {
  for (size_t r = 0; r < segments_.size(); ++r) {
    header(static_cast<int>(r))
        .lanes_in_use.fetch_or(uint64_t{1} << lane, std::memory_order_release);
  }
}

}  // namespace lci::net::shm
