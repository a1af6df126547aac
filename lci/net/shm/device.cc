#include "lci/net/shm/device.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lci/base/log.h"

namespace lci::net::shm {
namespace {

// The clock is read once in this many polls, and peers are looked at once in this time.
constexpr uint32_t polls_between_looks = 1024;
constexpr std::chrono::milliseconds time_between_looks{100};

// How large the rings of a mailbox are, in cells: a sum of reasons.
//   room for four of the largest messages, which ring.h requires (and a line for their headers)
//   beyond that, as much as keeps a mailbox at 8 MiB of address space: rings that are larger let a
//   sender run ahead of a receiver that is not running. Between 64 KiB and 256 KiB: more no longer
//   fits the cache.
uint32_t choose_ring_cells(size_t max_message, int ranks) {
  const size_t least = 4 * (span_of(max_message) + 1) * line_size;
  const size_t wanted = std::clamp((size_t{8} << 20) / static_cast<size_t>(ranks), size_t{64} << 10,
                                   size_t{256} << 10);
  size_t bytes = page_size;
  while (bytes < least || bytes < wanted) bytes *= 2;
  return static_cast<uint32_t>(bytes / line_size);
}

size_t ring_bytes(uint32_t cells) { return sizeof(ring_control) + cells * sizeof(cell); }

size_t mailbox_bytes(uint32_t cells, int ranks) {
  return page_size + static_cast<size_t>(ranks) * ring_bytes(cells);
}

ring_control* control_at(const segment& mailbox, uint32_t cells, int sender) {
  return reinterpret_cast<ring_control*>(mailbox.data() + page_size +
                                         static_cast<size_t>(sender) * ring_bytes(cells));
}

cell* cells_at(const segment& mailbox, uint32_t cells, int sender) {
  return reinterpret_cast<cell*>(control_at(mailbox, cells, sender) + 1);
}

// A lease is the rank that the message came from above, and its position in that rank's ring below.
constexpr int lease_position_bits = 44;
uint64_t make_lease(int rank, uint64_t position) {
  return static_cast<uint64_t>(rank) << lease_position_bits | position;
}

}  // namespace

shm_device::shm_device(shm_context& context, const device_limits& limits)
    : device(limits),
      context_(context),
      mailboxes_(static_cast<size_t>(context.size())),
      writers_(new ring_writer[static_cast<size_t>(context.size())]),
      readers_(new ring_reader[static_cast<size_t>(context.size())]),
      states_(new std::atomic<peer_state>[static_cast<size_t>(context.size())]),
      last_look_(std::chrono::steady_clock::now()) {
  for (int r = 0; r < context.size(); ++r) states_[static_cast<size_t>(r)] = peer_state::alive;
}

absl::StatusOr<std::unique_ptr<device>> shm_device::make(shm_context& context,
                                                         boot::bootstrap& boot,
                                                         const device_config& config) {
  const int ranks = context.size();
  const uint32_t cells = choose_ring_cells(config.max_message, ranks);
  device_limits limits;
  limits.max_inject = std::max<size_t>(config.max_message, 64);
  limits.max_send = limits.max_inject;
  // A put_imm holds the ring's lock while it copies; larger messages are split.
  limits.max_rma = size_t{4} << 20;
  std::unique_ptr<shm_device> made(new shm_device(context, limits));

  absl::StatusOr<segment> own = segment::create("lci-mailbox", mailbox_bytes(cells, ranks));
  if (!own.ok()) return own.status();
  std::shared_ptr<segment>& mailbox = made->mailboxes_[static_cast<size_t>(context.rank())];
  mailbox = std::make_shared<segment>(*std::move(own));
  *reinterpret_cast<mailbox_header*>(mailbox->data()) = {layout_version,
                                                         static_cast<uint32_t>(ranks), cells};

  const mailbox_offer ours{mailbox->fd(), cells, reinterpret_cast<uintptr_t>(&mailbox)};
  const auto all =
      boot.allgather(absl::StrCat("shm-mailbox-", config.uid),
                     absl::string_view(reinterpret_cast<const char*>(&ours), sizeof(ours)),
                     boot.default_timeout());
  if (!all.ok()) return all.status();

  for (int r = 0; r < ranks; ++r) {
    const auto i = static_cast<size_t>(r);
    mailbox_offer offer;
    if ((*all)[i].size() != sizeof(offer)) {
      return absl::FailedPreconditionError(absl::StrCat("rank ", r, " offers no mailbox"));
    }
    std::memcpy(&offer, (*all)[i].data(), sizeof(offer));
    if (offer.ring_cells != cells) {
      return absl::FailedPreconditionError(
          absl::StrCat("rank ", r, " and rank ", context.rank(), " make device ", config.uid,
                       " with different packet sizes; give all ranks the same attributes"));
    }
    const pid_t pid = context.rank_at(r).pid;
    if (r != context.rank() && pid == getpid()) {
      made->mailboxes_[i] = *reinterpret_cast<const std::shared_ptr<segment>*>(offer.shared);
    } else if (r != context.rank()) {
      absl::StatusOr<segment> view =
          segment::open(pid, offer.mailbox, mailbox_bytes(cells, ranks), /*writable=*/true);
      if (!view.ok()) {
        return absl::Status(view.status().code(),
                            absl::StrCat("rank ", r, ": ", view.status().message()));
      }
      made->mailboxes_[i] = std::make_shared<segment>(*std::move(view));
    }
    made->writers_[i].attach(control_at(*made->mailboxes_[i], cells, context.rank()),
                             cells_at(*made->mailboxes_[i], cells, context.rank()), cells);
    made->readers_[i].attach(control_at(*mailbox, cells, r), cells_at(*mailbox, cells, r), cells);
  }
  // Nobody closes a descriptor, or goes away, before all have opened it.
  const absl::Status opened =
      boot.barrier(absl::StrCat("shm-opened-", config.uid), boot.default_timeout());
  if (!opened.ok()) return opened;
  mailbox->close_descriptor();
  return std::unique_ptr<device>(std::move(made));
}

shm_device::~shm_device() {
  for (int r = 0; r < context_.size(); ++r) writers_[static_cast<size_t>(r)].close();
}

// ---- posting ------------------------------------------------------------------------------------

error_t shm_device::post(const op& operation) {
  if (__builtin_expect(!alive(operation.rank), 0)) return errorcode_t::fatal;
  return operation.kind == op_kind::send ? post_send(operation) : post_rma(operation);
}

error_t shm_device::post_send(const op& operation) {
  ring_writer& writer = writers_[static_cast<size_t>(operation.rank)];
  if (!writer.lock.try_lock()) return errorcode_t::retry_lock;
  const bool written =
      writer.write(message_kind::send, operation.imm,
                   {operation.header, operation.header_size, operation.buffer, operation.size});
  writer.lock.unlock();
  return written ? errorcode_t::done : errorcode_t::retry_nomem;
}

error_t shm_device::post_rma(const op& operation) {
  const peer& target = context_.rank_at(operation.rank);
  const uint64_t address =
      find_remote(target.regions(), operation.remote, operation.remote_offset, operation.size);
  if (address == 0 && operation.size > 0) return errorcode_t::fatal;
  const auto copy = [&] {
    const copy_direction direction =
        operation.kind == op_kind::get ? copy_direction::from_peer : copy_direction::to_peer;
    return operation.size == 0 ||
           copy_across(target.pid, direction, operation.buffer, address, operation.size);
  };
  if (operation.kind != op_kind::put_imm) {
    return copy() ? errorcode_t::done : errorcode_t::fatal;
  }
  // The lock is held from the look for room to the message, so that the bytes are copied only once.
  ring_writer& writer = writers_[static_cast<size_t>(operation.rank)];
  if (!writer.lock.try_lock()) return errorcode_t::retry_lock;
  const std::lock_guard<ds::spinlock> guard(writer.lock, std::adopt_lock);
  if (!writer.has_room(0)) return errorcode_t::retry_nomem;
  if (!copy()) return errorcode_t::fatal;
  writer.write(message_kind::put_imm, operation.imm, {});
  return errorcode_t::done;
}

// ---- polling ------------------------------------------------------------------------------------

error_t shm_device::poll(completion* out, size_t max, size_t* count) {
  *count = 0;
  if (!poll_lock_.try_lock()) return errorcode_t::retry_lock;
  const std::lock_guard<ds::spinlock> guard(poll_lock_, std::adopt_lock);
  size_t n = 0;
  if (__builtin_expect(unreported_.load(std::memory_order_acquire), 0)) {
    n = report_failures(out, max);
  }
  // Begins behind the rank that the last full batch ended with, so that none is served twice while
  // another waits.
  const int ranks = context_.size();
  for (int i = 0; i < ranks && n < max; ++i) {
    const int rank = next_rank_;
    next_rank_ = rank + 1 == ranks ? 0 : rank + 1;
    ring_reader& reader = readers_[static_cast<size_t>(rank)];
    incoming message;
    ring_reader::result result = ring_reader::result::none;
    while (n < max && (result = reader.next(&message)) == ring_reader::result::message) {
      take(rank, message, &out[n]);
      ++n;
    }
    if (__builtin_expect(result == ring_reader::result::corrupt, 0) && alive(rank)) {
      fail(rank, "it wrote a malformed message");
    }
  }
  if (++polls_ % polls_between_looks == 0) look_for_failures();
  *count = n;
  return n > 0 ? errorcode_t::done : errorcode_t::retry;
}

void shm_device::take(int rank, const incoming& message, completion* out) {
  *out = completion();
  out->rank = rank;
  out->imm = message.imm;
  if (message.kind == message_kind::send) {
    out->kind = completion_kind::recv;
    out->size = message.size;
    out->buffer = message.bytes;
    out->lease = make_lease(rank, message.position);
  } else {
    out->kind = completion_kind::remote_put;
    readers_[static_cast<size_t>(rank)].free(message.position);
  }
}

void shm_device::release(const completion& received) {
  const auto rank = static_cast<size_t>(received.lease >> lease_position_bits);
  readers_[rank].free(received.lease & ((uint64_t{1} << lease_position_bits) - 1));
}

// ---- failures -----------------------------------------------------------------------------------

void shm_device::look_for_failures() {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_look_ < time_between_looks) return;
  last_look_ = now;
  for (int r = 0; r < context_.size(); ++r) {
    if (r == context_.rank() || !alive(r) || !context_.rank_at(r).has_ended()) continue;
    // One that ended its device before it ended is no failure.
    if (!readers_[static_cast<size_t>(r)].sender_closed()) fail(r, "its process has ended");
  }
}

void shm_device::fail(int rank, const char* reason) {
  LCI_LOG(warn, "rank ", rank, " has failed: ", reason);
  states_[static_cast<size_t>(rank)].store(peer_state::failed, std::memory_order_release);
  unreported_.store(true, std::memory_order_release);
}

size_t shm_device::report_failures(completion* out, size_t max) {
  size_t n = 0;
  unreported_.store(false, std::memory_order_relaxed);
  for (int r = 0; r < context_.size(); ++r) {
    std::atomic<peer_state>& state = states_[static_cast<size_t>(r)];
    if (state.load(std::memory_order_relaxed) != peer_state::failed) continue;
    if (n == max) {
      unreported_.store(true, std::memory_order_relaxed);
      break;
    }
    state.store(peer_state::reported, std::memory_order_relaxed);
    out[n] = completion();
    out[n].kind = completion_kind::peer_failed;
    out[n].rank = r;
    ++n;
  }
  return n;
}

}  // namespace lci::net::shm
