#include "lci/net/shm/device.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "lci/base/strings.h"
#include "lci/net/capacity.h"
#include "lci/net/exchange.h"

namespace lci::net::shm {
namespace {

// Whether the processes of peers have ended is checked once in this time.
constexpr std::chrono::milliseconds check_interval{100};
constexpr size_t max_message_bytes = size_t{16} << 20;
static_assert(max_message_bytes + sizeof(remote_copy_header) < max_message_size);

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

size_t mailbox_bytes(uint32_t shift, int ranks) {
  const size_t bytes = page_size + static_cast<size_t>(ranks) * bytes_of_ring(shift);
  return (bytes + page_size - 1) / page_size * page_size;
}

ring_control* control_at(const segment& mailbox, uint32_t shift, int sender) {
  return reinterpret_cast<ring_control*>(mailbox.data() + page_size +
                                         static_cast<size_t>(sender) * bytes_of_ring(shift));
}

cooperative_slot* cooperative_slots_at(const segment& mailbox, uint32_t shift, int sender) {
  return reinterpret_cast<cooperative_slot*>(control_at(mailbox, shift, sender) + 1);
}

cell* cells_at(const segment& mailbox, uint32_t shift, int sender) {
  return reinterpret_cast<cell*>(cooperative_slots_at(mailbox, shift, sender) + cooperative_slots);
}

device_limits choose_limits(const device_config& config, int ranks, bool any_target_copies) {
  device_limits limits;
  // Larger messages than the runtime needs, as far as that makes no ring larger.
  const size_t quarter = net::ring_bytes(span_of(config.max_message) * cell_size, ranks) / 4;
  const size_t wanted = std::min(config.attr.shm_eager_size, max_message_bytes) + max_header_size;
  limits.max_inject =
      std::max({size_t{64}, config.max_message,
                std::min(wanted, quarter - word_size - sizeof(remote_copy_header) - cell_size)});
  limits.max_send = limits.max_inject;
  limits.needs_registration = false;
  // A put or get that both ranks copy, or that the ring carries in several pieces, is waited for.
  limits.rma_short =
      any_target_copies ? 0 : std::min(limits.max_send + 1, config.attr.shm_joint_copy_size);
  limits.has_add = !any_target_copies;  // else the bytes themselves wait for the target
  // Upper bound on the copy that other messages to the same rank may have to wait for.
  limits.max_rma = size_t{4} << 20;
  return limits;
}

}  // namespace

shm_device::shm_device(shm_context& context, const device_config& config)
    : device(choose_limits(config, context.size(), context.any_target_copies())),
      context_(context),
      ranks_(context.size()),
      piece_(limits().max_send),
      cooperative_copy_size_(config.attr.shm_joint_copy_size),
      mailboxes_(static_cast<size_t>(ranks_)),
      writers_(new ring_writer[static_cast<size_t>(ranks_)]),
      readers_(new ring_reader[static_cast<size_t>(ranks_)]),
      health_("shm", ranks_, peer_state::alive, check_interval),
      large_puts_(ranks_),
      requests_(ranks_, context.regions(), piece_, large_puts_),
      cooperative_(
          ranks_, context.regions(),
          [&context](int rank, copy_direction direction, void* local, uint64_t remote,
                     size_t size) {
            return context.rank_at(rank).copy(direction, local, remote, size);
          },
          large_puts_),
      active_rank_(context.rank()),
      region_user_(context.regions()) {}

base::StatusOr<std::unique_ptr<device>> shm_device::make(shm_context& context,
                                                         boot::bootstrap& boot,
                                                         const device_config& config) {
  std::unique_ptr<shm_device> made(new shm_device(context, config));
  if (base::Status status = made->connect(boot, config); !status.ok()) return status;
  return std::unique_ptr<device>(std::move(made));
}

base::Status shm_device::connect(boot::bootstrap& boot, const device_config& config) {
  // The largest message: a send, or a request with as many bytes.
  const size_t max_size =
      std::min(limits().max_send, max_message_bytes) + sizeof(remote_copy_header);
  const uint32_t shift = choose_ring_shift(max_size, ranks_);
  std::shared_ptr<segment>& own = mailboxes_[static_cast<size_t>(context_.rank())];

  const auto offer = [&]() -> base::StatusOr<std::string> {
    if (config.max_message > max_message_bytes) {
      return base::InvalidArgumentError(base::StrCat("packets of ", config.max_message,
                                                     " bytes; the shm backend has room for ",
                                                     max_message_bytes, " at most"));
    }
    base::StatusOr<segment> mailbox = segment::create("lci-mailbox", mailbox_bytes(shift, ranks_));
    if (!mailbox.ok()) return mailbox.status();
    own = std::make_shared<segment>(*std::move(mailbox));
    const mailbox_offer local{own->name(), uint64_t{1} << shift, reinterpret_cast<uintptr_t>(&own)};
    return std::string(reinterpret_cast<const char*>(&local), sizeof(local));
  };
  const auto accept = [&](int r, const std::string& offered) {
    const base::Status status = connect(r, offered, shift, max_size);
    if (status.ok()) return status;
    return base::WithPrefix(base::StrCat("device ", config.uid, ", "), context_.reason(r, status));
  };
  // No rank closes its descriptor, or ends, before all ranks have opened it.
  base::Status status =
      exchange_and_accept(boot, base::StrCat("shm-mailbox-", config.uid), offer(), accept);
  if (!status.ok()) return status;
  own->close_descriptor();
  connected_ = true;
  return base::OkStatus();
}

base::Status shm_device::connect(int rank, const std::string& bytes, uint32_t shift,
                                 size_t max_size) {
  const auto i = static_cast<size_t>(rank);
  mailbox_offer offer;
  if (bytes.size() != sizeof(offer)) {
    return base::FailedPreconditionError("offers no mailbox");
  }
  std::memcpy(&offer, bytes.data(), sizeof(offer));
  if (offer.ring_cells != uint64_t{1} << shift) {
    return base::FailedPreconditionError(
        "has another packet size; give all ranks the same attributes");
  }
  const peer& other = context_.rank_at(rank);
  if (rank != context_.rank() && other.pid == getpid()) {
    mailboxes_[i] = *reinterpret_cast<const std::shared_ptr<segment>*>(offer.shared);
  } else if (rank != context_.rank()) {
    base::StatusOr<segment> view = segment::open(other.process.pid, offer.mailbox,
                                                 mailbox_bytes(shift, ranks_), /*writable=*/true);
    if (!view.ok()) return view.status();
    mailboxes_[i] = std::make_shared<segment>(*std::move(view));
  }
  const segment& remote = *mailboxes_[i];
  const segment& local = *mailboxes_[static_cast<size_t>(context_.rank())];
  writers_[i].attach(control_at(remote, shift, context_.rank()),
                     cells_at(remote, shift, context_.rank()), shift);
  readers_[i].attach(control_at(local, shift, rank), cells_at(local, shift, rank), shift, max_size);
  cooperative_.attach(rank, cooperative_slots_at(remote, shift, context_.rank()),
                      cooperative_slots_at(local, shift, rank));
  return base::OkStatus();
}

shm_device::~shm_device() {
  // A child that was forked off must not end it for us.
  if (!connected_ || !context_.is_owner_process()) return;
  for (int r = 0; r < ranks_; ++r) writer(r).close();
}

}  // namespace lci::net::shm
