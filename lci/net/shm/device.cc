#include "lci/net/shm/device.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lci/base/copy.h"
#include "lci/base/log.h"
#include "lci/net/capacity.h"
#include "lci/net/exchange.h"

namespace lci::net::shm {
namespace {

// The clock is read once in this many polls, and peers are looked at once in this time.
constexpr uint32_t polls_between_looks = 256;
constexpr std::chrono::milliseconds time_between_looks{100};

// One poll in so many looks at more than the ring that had something last, if that has more.
constexpr uint32_t polls_of_one = 16;
static_assert(polls_between_looks % polls_of_one == 0);
// The same where that ring has nothing now, but had during the last polls_of_hope. Not for longer:
// who polls seldom has to find with one poll what there is.
constexpr uint32_t idle_polls_of_one = 4;
constexpr uint32_t polls_of_hope = 64;
static_assert(polls_of_one % idle_polls_of_one == 0);
// Rings that one poll looks at, besides the one that had something last. A look at an idle ring
// costs two cache lines and an entry of the TLB, which with 64 ranks is longer than a message
// takes.
constexpr int rings_per_poll = 8;
// Messages that one poll takes from a ring, so that requests, which give no completion, can't keep
// it there.
constexpr int messages_per_visit = 256;

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
  return sizeof(ring_control) + joint_slots * sizeof(joint_slot) + (sizeof(cell) << shift);
}

size_t mailbox_bytes(uint32_t shift, int ranks) {
  const size_t bytes = page_size + static_cast<size_t>(ranks) * bytes_of_ring(shift);
  return (bytes + page_size - 1) / page_size * page_size;
}

ring_control* control_at(const segment& mailbox, uint32_t shift, int sender) {
  return reinterpret_cast<ring_control*>(mailbox.data() + page_size +
                                         static_cast<size_t>(sender) * bytes_of_ring(shift));
}

joint_slot* joint_slots_at(const segment& mailbox, uint32_t shift, int sender) {
  return reinterpret_cast<joint_slot*>(control_at(mailbox, shift, sender) + 1);
}

cell* cells_at(const segment& mailbox, uint32_t shift, int sender) {
  return reinterpret_cast<cell*>(joint_slots_at(mailbox, shift, sender) + joint_slots);
}

// A lease is the rank that the message came from above, and its first cell in that rank's ring
// below.
uint64_t make_lease(int rank, uint32_t first_cell) {
  return static_cast<uint64_t>(rank) << 32 | first_cell;
}

device_limits choose_limits(const device_config& config, int ranks, bool any_asking) {
  device_limits limits;
  // Larger messages than the runtime needs, as far as that makes no ring larger.
  const size_t quarter = net::ring_bytes(span_of(config.max_message) * cell_size, ranks) / 4;
  const size_t wanted = std::min(config.eager_size, max_message_bytes) + max_header_size;
  limits.max_inject =
      std::max({size_t{64}, config.max_message,
                std::min(wanted, quarter - word_size - sizeof(remote_copy_header) - cell_size)});
  limits.max_send = limits.max_inject;
  limits.needs_registration = false;
  // What both ranks copy, or the ring carries in several pieces, is waited for.
  limits.rma_at_once = any_asking ? 0 : std::min(limits.max_send + 1, config.joint_copy_size);
  limits.has_add = !any_asking;  // else the bytes themselves wait for the target
  // What others' messages to the same rank may have to wait for.
  limits.max_rma = size_t{4} << 20;
  return limits;
}

}  // namespace

shm_device::shm_device(shm_context& context, const device_config& config)
    : device(choose_limits(config, context.size(), context.any_asking())),
      context_(context),
      ranks_(context.size()),
      piece_(limits().max_send),
      joint_copy_size_(config.joint_copy_size),
      mailboxes_(static_cast<size_t>(ranks_)),
      writers_(new ring_writer[static_cast<size_t>(ranks_)]),
      readers_(new ring_reader[static_cast<size_t>(ranks_)]),
      states_(new std::atomic<peer_state>[static_cast<size_t>(ranks_)]()),
      large_puts_(ranks_),
      requests_(ranks_, context.regions(), piece_, large_puts_),
      joint_(
          ranks_, context.regions(),
          [&context](int rank, copy_direction direction, void* local, uint64_t remote,
                     size_t size) {
            return context.rank_at(rank).copy(direction, local, remote, size);
          },
          large_puts_),
      active_rank_(context.rank()),
      last_look_(std::chrono::steady_clock::now()) {}

absl::StatusOr<std::unique_ptr<device>> shm_device::make(shm_context& context,
                                                         boot::bootstrap& boot,
                                                         const device_config& config) {
  std::unique_ptr<shm_device> made(new shm_device(context, config));
  if (absl::Status bad = made->connect(boot, config); !bad.ok()) return bad;
  return std::unique_ptr<device>(std::move(made));
}

absl::Status shm_device::connect(boot::bootstrap& boot, const device_config& config) {
  // The largest message: a send, or a request with as many bytes.
  const size_t max_size =
      std::min(limits().max_send, max_message_bytes) + sizeof(remote_copy_header);
  const uint32_t shift = choose_ring_shift(max_size, ranks_);
  std::shared_ptr<segment>& own = mailboxes_[static_cast<size_t>(context_.rank())];

  const auto offer = [&]() -> absl::StatusOr<std::string> {
    if (config.max_message > max_message_bytes) {
      return absl::InvalidArgumentError(absl::StrCat("packets of ", config.max_message,
                                                     " bytes; the shm backend has room for ",
                                                     max_message_bytes, " at most"));
    }
    absl::StatusOr<segment> mailbox = segment::create("lci-mailbox", mailbox_bytes(shift, ranks_));
    if (!mailbox.ok()) return mailbox.status();
    own = std::make_shared<segment>(*std::move(mailbox));
    const mailbox_offer ours{own->name(), uint64_t{1} << shift, reinterpret_cast<uintptr_t>(&own)};
    return std::string(reinterpret_cast<const char*>(&ours), sizeof(ours));
  };
  const auto all = exchange(boot, absl::StrCat("shm-mailbox-", config.uid), offer());
  if (!all.ok()) return all.status();

  absl::Status status;
  for (int r = 0; r < ranks_ && status.ok(); ++r) {
    status = connect(r, (*all)[static_cast<size_t>(r)], shift, max_size);
    if (!status.ok()) {
      status = absl::Status(
          status.code(), absl::StrCat("device ", config.uid, ", rank ", r, ": ", status.message()));
    }
  }
  // Nobody closes a descriptor, or goes away, before all have opened it.
  status = agree(boot, absl::StrCat("shm-opened-", config.uid), status);
  if (!status.ok()) return status;
  own->close_descriptor();
  connected_ = true;
  return absl::OkStatus();
}

absl::Status shm_device::connect(int rank, const std::string& bytes, uint32_t shift,
                                 size_t max_size) {
  const auto i = static_cast<size_t>(rank);
  mailbox_offer offer;
  if (bytes.size() != sizeof(offer)) {
    return absl::FailedPreconditionError("offers no mailbox");
  }
  std::memcpy(&offer, bytes.data(), sizeof(offer));
  if (offer.ring_cells != uint64_t{1} << shift) {
    return absl::FailedPreconditionError(
        "has another packet size; give all ranks the same attributes");
  }
  const peer& other = context_.rank_at(rank);
  if (rank != context_.rank() && other.pid == getpid()) {
    mailboxes_[i] = *reinterpret_cast<const std::shared_ptr<segment>*>(offer.shared);
  } else if (rank != context_.rank()) {
    absl::StatusOr<segment> view = segment::open(other.process.pid, offer.mailbox,
                                                 mailbox_bytes(shift, ranks_), /*writable=*/true);
    if (!view.ok()) return view.status();
    mailboxes_[i] = std::make_shared<segment>(*std::move(view));
  }
  const segment& theirs = *mailboxes_[i];
  const segment& ours = *mailboxes_[static_cast<size_t>(context_.rank())];
  writers_[i].attach(control_at(theirs, shift, context_.rank()),
                     cells_at(theirs, shift, context_.rank()), shift);
  readers_[i].attach(control_at(ours, shift, rank), cells_at(ours, shift, rank), shift, max_size);
  joint_.attach(rank, joint_slots_at(theirs, shift, context_.rank()),
                joint_slots_at(ours, shift, rank));
  return absl::OkStatus();
}

shm_device::~shm_device() {
  // A child that was forked off must not end it for us.
  if (!connected_ || !context_.is_ours()) return;
  for (int r = 0; r < ranks_; ++r) writer(r).close();
}

// ---- posting ------------------------------------------------------------------------------------

error_t shm_device::post(const op& operation) {
  if (__builtin_expect(operation.kind != op_kind::send, 0)) {
    if (state(operation.rank) != peer_state::alive) return errorcode_t::fatal;
    return post_remote_copy(operation);
  }
  return send(operation.rank, operation.imm,
              {operation.header, operation.header_size, operation.buffer, operation.size});
}

// Most are small, to a ring that one thread has nearly to itself: their way makes no call.
error_t shm_device::inject(int rank, net_imm_data_t imm, const void* buffer, size_t size) {
  if (__builtin_expect(state(rank) == peer_state::alive && ring_writer::is_short(size), 1)) {
    ring_writer& to = writer(rank);
    const ds::biased_lock::owner_guard guard(to.lock);
    if (guard && to.write_at_once(message_kind::send, imm, buffer, size)) return errorcode_t::done;
  }
  return send(rank, imm, {nullptr, 0, buffer, size});
}

error_t shm_device::send(int rank, net_imm_data_t imm, const gather& message) {
  if (__builtin_expect(state(rank) != peer_state::alive, 0)) return errorcode_t::fatal;
  ring_writer& to = writer(rank);
  if (!to.lock.try_lock()) return errorcode_t::retry_lock;
  const bool written = to.write(message_kind::send, imm, message);
  to.lock.unlock();
  return __builtin_expect(written, 1) ? error_t(errorcode_t::done) : full(rank);
}

// Nobody will make room in the ring to a rank that has ended its device.
error_t shm_device::full(int rank) const {
  return reader(rank).sender_closed() ? errorcode_t::fatal : errorcode_t::retry_nomem;
}

error_t shm_device::post_remote_copy(const op& operation) {
  const peer& target = context_.rank_at(operation.rank);
  open_bytes open;
  if (!find_open(target.regions(), operation.remote, operation.remote_offset, operation.size,
                 &open)) {
    return errorcode_t::fatal;
  }
  const copy_direction direction =
      operation.kind == op_kind::get ? copy_direction::from_peer : copy_direction::to_peer;
  unsigned char* const mapped = target.mapped(open);
  // Small bytes that the target is told of travel with the word.
  const bool at_once = operation.kind == op_kind::put_imm && operation.size <= piece_;
  const bool through_ring =
      mapped == nullptr && target.by != reach::here && (target.by == reach::asking || at_once);
  const bool by_both = mapped == nullptr && target.by == reach::kernel && operation.target_waits &&
                       operation.size >= joint_copy_size_;
  const auto copy = [&] {
    if (mapped == nullptr) {
      return target.copy(direction, operation.buffer, open.address, operation.size);
    }
    if (direction == copy_direction::to_peer && operation.size <= line_size) {
      base::copy_short(mapped, operation.buffer, operation.size);
    } else {
      copy_within(direction, operation.buffer, reinterpret_cast<uintptr_t>(mapped), operation.size);
    }
    return true;
  };
  if (!through_ring && !by_both && operation.kind != op_kind::put_imm) {
    return copy() ? errorcode_t::done : errorcode_t::fatal;
  }
  ring_writer& to = writer(operation.rank);
  if (!to.lock.try_lock()) return errorcode_t::retry_lock;
  const std::lock_guard<ds::biased_lock> guard(to.lock, std::adopt_lock);
  // Again, under the lock: report_failure gives up what is open under the same lock.
  if (state(operation.rank) != peer_state::alive) return errorcode_t::fatal;
  if (by_both) return post_large(operation, open.address, to);
  if (through_ring) {
    const error_t posted =
        at_once ? requests_.put_at_once(operation, to) : requests_.post(operation, to);
    return posted.is_retry() ? full(operation.rank) : posted;
  }
  // The lock is held from the look for room to the message, so that the bytes are copied only once.
  const bool tells = operation.kind == op_kind::put_imm;
  if (tells && !to.has_room(0)) return full(operation.rank);
  if (!copy()) return errorcode_t::fatal;
  if (tells) to.write(message_kind::put_done, operation.imm, {});
  return errorcode_t::done;
}

// With the ring's lock.
error_t shm_device::post_large(const op& operation, uint64_t remote, ring_writer& to) {
  const int64_t begin = large_puts::now();
  const way through = large_puts_.next(operation.rank, operation.size);
  const error_t posted = through == way::kernel ? joint_.put(operation, remote, to, begin)
                                                : requests_.post(operation, to, begin);
  if (posted.is_retry()) return full(operation.rank);
  large_puts_.began(through, operation.rank, operation.size);
  return posted;
}

bool shm_device::add(int rank, remote_region remote, uint64_t remote_offset, int64_t value) {
  if (state(rank) != peer_state::alive) return false;
  const peer& target = context_.rank_at(rank);
  open_bytes open;
  if (!find_open(target.regions(), remote, remote_offset, sizeof(value), &open)) return false;
  unsigned char* word = target.mapped(open);
  if (word == nullptr) {
    if (target.by != reach::here) return false;
    word = reinterpret_cast<unsigned char*>(static_cast<uintptr_t>(open.address));
  }
  __atomic_fetch_add(reinterpret_cast<int64_t*>(word), value, __ATOMIC_RELEASE);
  return true;
}

// ---- polling ------------------------------------------------------------------------------------

namespace {

// All that a receive has.
inline void fill(completion* out, int rank, const incoming& message) {
  out->kind = completion_kind::recv;
  out->rank = rank;
  out->imm = message.imm;
  out->size = message.size;
  out->buffer = message.bytes;
  out->lease = make_lease(rank, message.first_cell);
  out->is_small = false;
}

}  // namespace

error_t shm_device::poll(completion* out, size_t max, size_t* count) {
  *count = 0;
  if (!poll_lock_.try_lock()) return errorcode_t::retry_lock;
  const std::lock_guard<ds::biased_lock> guard(poll_lock_, std::adopt_lock);
  // Mostly there are more messages from where the last one came from, or nothing at all. Every so
  // often that way is not taken, so that nobody else has to wait for long; nor while large puts are
  // under way, of which only so many can be.
  if (__builtin_expect(++polls_ % polls_of_one != 0 && joint_.idle(), 1)) {
    const int rank = active_rank_;
    ring_reader& from = reader(rank);
    const auto most = static_cast<uint32_t>(limits().max_send);
    size_t taken = 0;
    incoming message;
    for (; taken < max; ++taken) {
      completion& given = out[taken];
      uint32_t size = 0;
      if (from.take_small(message_kind::send, &given.imm, &size, given.small)) {
        given.kind = completion_kind::recv;
        given.rank = rank;
        given.size = size;
        given.is_small = true;
      } else if (from.next_of(message_kind::send, most, &message)) {
        fill(&given, rank, message);
      } else {
        break;
      }
    }
    if (taken > 0) {
      from.reclaim();
      *count = taken;
      last_found_ = polls_;
      return errorcode_t::done;
    }
    // Who has just had one mostly waits for the next one from there.
    if (polls_ - last_found_ < polls_of_hope && polls_ % idle_polls_of_one != 0 && from.is_idle() &&
        requests_.idle()) {
      return errorcode_t::retry;
    }
  }
  return poll_all(out, max, count);
}

[[gnu::noinline]] error_t shm_device::poll_all(completion* out, size_t max, size_t* count) {
  batch given{out, out + max};
  if (__builtin_expect(!requests_.idle(), 0)) move_streams();
  if (__builtin_expect(!joint_.idle(), 0)) finish_joint(&given);
  // Begins behind the rank that the last full batch ended with, so that none is served twice while
  // another waits.
  for (int i = std::min(ranks_, rings_per_poll); i > 0 && !given.full(); --i) {
    const int rank = next_rank_;
    next_rank_ = rank + 1 == ranks_ ? 0 : rank + 1;
    if (!reader(rank).is_idle()) read(rank, &given);
  }
  // Those who talk with us are not kept waiting by those who don't.
  if (ranks_ > rings_per_poll && !given.full()) visit(active_rank_, &given);
  if (polls_ % polls_between_looks == 0) look_for_failures();
  if (__builtin_expect(unreported_, 0)) report_failures(&given);
  *count = static_cast<size_t>(given.next - out);
  return given.moved ? errorcode_t::done : errorcode_t::retry;
}

// True if there is nothing more to read.
bool shm_device::visit(int rank, batch* given) { return read(rank, given); }

// The same, where it is worth its place.
[[gnu::always_inline]] inline bool shm_device::read(int rank, batch* given) {
  // Only we change it.
  if (states_[static_cast<size_t>(rank)].load(std::memory_order_relaxed) > peer_state::ended) {
    return true;
  }
  ring_reader& from = reader(rank);
  from.reclaim();
  const size_t max_send = limits().max_send;
  completion* next = given->next;
  bool empty = false;
  for (int others = 0; next != given->end && others < messages_per_visit;) {
    incoming message;
    const ring_reader::result result = from.next(&message);
    empty = result == ring_reader::result::none;
    if (empty) break;
    if (__builtin_expect(result == ring_reader::result::message &&
                             message.kind == message_kind::send && message.size <= max_send,
                         1)) {
      fill(next++, rank, message);
      continue;
    }
    given->next = next;
    given->moved = true;
    if (result == ring_reader::result::corrupt || !take(rank, message, given)) {
      fail(rank, peer_state::corrupt, "it wrote a malformed message");
      return true;
    }
    next = given->next;
    ++others;
  }
  if (next != given->next) {
    given->next = next;
    given->moved = true;
  }
  if (given->moved) active_rank_ = rank;
  return empty;
}

// All but a send. False if the message makes no sense.
[[gnu::noinline]] bool shm_device::take(int rank, incoming message, batch* given) {
  completion* const out = given->next;
  switch (message.kind) {
    case message_kind::put_done:
      *out = completion();
      out->kind = completion_kind::remote_put;
      out->rank = rank;
      out->imm = message.imm;
      ++given->next;
      reader(rank).free(message.first_cell, message.size);
      return true;
    case message_kind::put_request:
    case message_kind::put_imm_request:
    case message_kind::get_request:
    case message_kind::reply: {
      const request_table::result result = requests_.take(rank, message, writer(rank), out);
      reader(rank).free(message.first_cell, message.size);
      // At once: there may be a stream behind it that waits for room.
      reader(rank).reclaim();
      if (result == request_table::result::completed) ++given->next;
      return result != request_table::result::malformed;
    }
    case message_kind::joint_put: {
      const bool sound = joint_.take(rank, message);
      reader(rank).free(message.first_cell, message.size);
      return sound;
    }
    case message_kind::joint_done: {
      bool told = false;
      const bool sound = joint_.take_done(rank, message, out, &told);
      reader(rank).free(message.first_cell, message.size);
      if (told) ++given->next;
      return sound;
    }
    case message_kind::send:  // too large
    case message_kind::pad:   // stays in the ring
      break;
  }
  return false;
}

void shm_device::move_streams() {
  for (int r = 0; r < ranks_; ++r) {
    requests_.pay(r, writer(r));
    if (!writer(r).lock.try_lock()) continue;
    const std::lock_guard<ds::biased_lock> guard(writer(r).lock, std::adopt_lock);
    requests_.go_on(r, writer(r));
  }
}

// What the targets of our puts have finished.
void shm_device::finish_joint(batch* given) {
  for (int r = 0; r < ranks_ && !given->full(); ++r) {
    if (!writer(r).lock.try_lock()) continue;
    const std::lock_guard<ds::biased_lock> guard(writer(r).lock, std::adopt_lock);
    while (!given->full() && joint_.finish(r, given->next)) {
      ++given->next;
      given->moved = true;
    }
  }
}

void shm_device::release(const completion& received) {
  if (received.is_small) return;  // taken with its bytes
  const auto rank = static_cast<int>(received.lease >> 32);
  reader(rank).free(static_cast<uint32_t>(received.lease), received.size);
}

// ---- failures -----------------------------------------------------------------------------------

void shm_device::look_for_failures() {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_look_ < time_between_looks) return;
  last_look_ = now;
  for (int r = 0; r < ranks_; ++r) {
    if (r == context_.rank() || state(r) != peer_state::alive) continue;
    // One that ended its device before it ended is no failure.
    if (reader(r).sender_closed() || !context_.rank_at(r).has_ended()) continue;
    // It may have ended its device between the two looks.
    if (!reader(r).sender_closed()) fail(r, peer_state::ended, "its process has ended");
  }
}

void shm_device::fail(int rank, peer_state how, const char* reason) {
  LCI_LOG(warn, "rank ", rank, " has failed: ", reason);
  active_rank_ = context_.rank();  // its ring may be read no more
  states_[static_cast<size_t>(rank)].store(how, std::memory_order_release);
  unreported_ = true;
}

void shm_device::report_failures(batch* given) {
  unreported_ = false;
  for (int r = 0; r < ranks_; ++r) {
    const peer_state now = state(r);
    if (now != peer_state::ended && now != peer_state::corrupt) continue;
    if (!report_failure(r, given)) unreported_ = true;
  }
}

// First all that it had sent, then all that waits for it, then that it is gone. False if there is
// more to do than the batch has room for, or another thread is posting to it.
bool shm_device::report_failure(int rank, batch* given) {
  if (!visit(rank, given)) return false;
  ring_writer& to = writer(rank);
  if (!to.lock.try_lock()) return false;
  const std::lock_guard<ds::biased_lock> guard(to.lock, std::adopt_lock);
  for (;;) {
    if (given->full()) return false;
    given->moved = true;
    if (!requests_.give_up(rank, given->next) && !joint_.give_up(rank, given->next)) break;
    ++given->next;
  }
  *given->next = completion();
  given->next->kind = completion_kind::peer_failed;
  given->next->rank = rank;
  ++given->next;
  states_[static_cast<size_t>(rank)].store(peer_state::reported, std::memory_order_release);
  return true;
}

}  // namespace lci::net::shm
