// The poll of a device.
#include <algorithm>
#include <chrono>
#include <mutex>

#include "lci/net/shm/device.h"
#include "lci/net/shm/inline_put_imm.h"

namespace lci::net::shm {
namespace {

// Checks of whether processes run another program in which all ranks have their turn.
constexpr int checks_of_all = 16;

// One poll in so many looks at more than the ring that had something last, if that has more.
constexpr uint32_t polls_of_one = 16;
static_assert(polls_between_checks % polls_of_one == 0);
// Where that ring has nothing now, but had during the last polls_of_hope polls, a glance at it may
// replace polls (seems_idle). Not for longer: a thread that polls seldom has to find all messages
// with one poll.
constexpr uint32_t polls_of_hope = 16;
// Rings that one poll looks at, besides the one that had something last. A look at an idle ring
// costs two cache lines and an entry of the TLB, which with 64 ranks is longer than a message
// takes.
constexpr int rings_per_poll = 8;
// Messages that one poll takes from a ring, so that requests, which give no completion, can't keep
// it there.
constexpr int messages_per_visit = 256;

// Takes messages in a row whose bytes fit into the completion, and returns their number.
[[gnu::always_inline]] inline size_t take_small(ring_reader& from, int rank, completion* out,
                                                size_t max) {
  return from.take_small(ring_message_kind::send, max,
                         [out, rank](size_t i, uint32_t imm, uint32_t size) {
                           completion& filled = out[i];
                           filled.kind = completion_kind::recv;
                           filled.is_small = true;
                           filled.rank = rank;
                           filled.imm = imm;
                           filled.size = size;
                           return filled.small;
                         });
}

// All that another receive has.
inline void fill(completion* out, int rank, const incoming& message, uint64_t lease) {
  out->kind = completion_kind::recv;
  out->rank = rank;
  out->imm = message.imm;
  out->size = message.size;
  out->buffer = message.bytes;
  out->lease = lease;
  out->is_small = false;
}

// The program is notified of a put.
inline void fill_remote_put(completion* out, int rank, uint32_t imm) {
  out->kind = completion_kind::remote_put;
  out->rank = rank;
  out->imm = imm;
  out->imm_high = 0;
  out->is_small = true;  // nothing is lent
}

// Takes a put of this kind that comes with its bytes, which write(word, bytes) brings to their place,
// and fills *(*next)++. False as take_more().
template <class Write>
[[gnu::always_inline]] inline bool take_put(ring_reader& from, ring_message_kind kind,
                                            uint32_t least, uint32_t most, int rank,
                                            completion** next, Write write) {
  take_result result = take_result::nothing;
  from.read_of(
      kind, least,
      most, [&](uint64_t word, const unsigned char* bytes) __attribute__((always_inline)) {
        result = write(word, bytes);
        fill_remote_put(*next, rank, imm_in(word));
      });
  if (result != take_result::completed) return false;
  ++*next;
  return true;
}

}  // namespace

error_t shm_device::poll(completion* out, size_t max, size_t* count) {
  *count = 0;
  if (!poll_lock_.try_lock()) return errorcode_t::retry_lock;
  const std::lock_guard<ds::biased_lock> guard(poll_lock_, std::adopt_lock);
  // The next message usually comes from the sender of the last one, if there is one at all. This
  // path is skipped now and then, so that no other rank waits for long, and while large puts are
  // under way, since their number is limited.
  if (__builtin_expect(++polls_ % polls_of_one != 0 && cooperative_.idle(), 1)) {
    const int rank = active_rank_;
    ring_reader& from = reader(rank);
    const size_t taken = take_next(from, rank, out, max);
    if (taken > 0) {
      from.reclaim();
      *count = taken;
      last_found_ = polls_;
      seen_.event.store(from.next_word(), std::memory_order_relaxed);
      if (!out[taken - 1].is_small) expect_lines(from, out[taken - 1]);
      return errorcode_t::done;
    }
  }
  return poll_all(out, max, count);
}

// The next message is likely to be as large as the last one. Glances fetch the second line of a
// message that has two. Of a larger one, each line that they fetch delays the sender.
void shm_device::expect_lines(const ring_reader& from, const completion& last) {
  const auto* const word = reinterpret_cast<const char*>(from.next_word());
  const bool has_two =
      last.size > cache_line_size - word_size && last.size <= 2 * cache_line_size - word_size;
  seen_.line.store(word + (has_two ? cache_line_size : 0), std::memory_order_relaxed);
}

// As take_common(). Messages that come one at a time take the shortest way.
[[gnu::always_inline]] inline size_t shm_device::take_next(ring_reader& from, int rank,
                                                           completion* out, size_t max) {
  const size_t taken = take_small(from, rank, out, 1);
  if (taken == max || from.has_none()) return taken;
  return taken + take_common(from, rank, out + taken, max - taken);
}

// Takes the most common messages up to the first of another kind, and returns their number.
[[gnu::noinline]] size_t shm_device::take_common(ring_reader& from, int rank, completion* out,
                                                 size_t max) {
  completion* const end = out + max;
  completion* next = out;
  while (next != end && take_more(from, rank, &next, end)) {
  }
  return static_cast<size_t>(next - out);
}

// Takes one message or a few, of a common kind, and fills their completions from *next on. False if
// there is none, or it needs more, or it has been taken and has no completion.
[[gnu::always_inline]] inline bool shm_device::take_more(ring_reader& from, int rank,
                                                         completion** next, completion* end) {
  switch (from.next_kind()) {
    case ring_message_kind::send: {
      const size_t taken = take_small(from, rank, *next, static_cast<size_t>(end - *next));
      *next += taken;
      if (taken > 0) return true;
      incoming message;
      const auto most = static_cast<uint32_t>(limits().max_send);
      if (!from.next_of(ring_message_kind::send, 0, most, &message)) return false;
      fill((*next)++, rank, message, make_lease(rank, message.first_cell));
      return true;
    }
    case ring_message_kind::put_done:
      return from.read_of(ring_message_kind::put_done, 0, 0,
                          [&](uint64_t word, const unsigned char*) {
                            fill_remote_put((*next)++, rank, imm_in(word));
                          });
    case ring_message_kind::inline_put_imm: {
      constexpr uint32_t least = sizeof(inline_put_imm_header);
      return take_put(from, ring_message_kind::inline_put_imm, least,
                      static_cast<uint32_t>(piece_ + least), rank, next,
                      [&](uint64_t word, const unsigned char* bytes) {
                        return take_inline_put_imm(region_user_, rank, bytes, size_in(word),
                                                   &last_put_from(rank));
                      });
    }
    case ring_message_kind::next_put_imm:
      return take_put(from, ring_message_kind::next_put_imm, 0, max_next_put_size, rank, next,
                      [&](uint64_t word, const unsigned char* bytes) {
                        return take_next_put_imm(region_user_, rank, last_put_from(rank),
                                                 next_put_offset_in(word), bytes, size_in(word));
                      });
    default:
      return false;
  }
}

[[gnu::noinline]] error_t shm_device::poll_all(completion* out, size_t max, size_t* count) {
  batch results{out, out + max};
  pulse_.store(polls_, std::memory_order_relaxed);
  if (__builtin_expect(!requests_.idle(), 0)) move_streams();
  if (__builtin_expect(!cooperative_.idle(), 0)) finish_cooperative(&results);
  // Begins behind the rank that the last full batch ended with, so that none is served twice while
  // another waits.
  for (int i = std::min(ranks_, rings_per_poll); i > 0 && !results.full(); --i) {
    const int rank = next_rank_;
    next_rank_ = rank + 1 == ranks_ ? 0 : rank + 1;
    if (!reader(rank).is_idle()) read(rank, &results);
  }
  // Ranks that send to this rank do not wait for the polls of idle rings.
  if (ranks_ > rings_per_poll && !results.full()) visit(active_rank_, &results);
  if (polls_ % polls_between_checks == 0) check_for_failures(&results);
  if (__builtin_expect(common_->failures.version() != failures_seen_, 0)) suspect_announced();
  if (__builtin_expect(health_.has_suspects(), 0)) report_failures(&results);
  *count = static_cast<size_t>(results.next - out);
  if (results.moved) last_found_ = polls_;
  const ring_reader& likely = reader(active_rank_);
  const bool may_glance = polls_ - last_found_ < polls_of_hope && likely.is_idle() &&
                          requests_.idle() && cooperative_.idle();
  seen_.event.store(may_glance ? likely.next_word() : nullptr, std::memory_order_relaxed);
  return results.moved ? errorcode_t::done : errorcode_t::retry;
}

// True if there is nothing more to read.
bool shm_device::visit(int rank, batch* out) { return read(rank, out); }

// The same, where it is worth its place.
[[gnu::always_inline]] inline bool shm_device::read(int rank, batch* out) {
  if (!is_readable(health_.state(rank))) return true;
  ring_reader& from = reader(rank);
  from.reclaim();
  bool empty = false;
  for (int others = 0; others < messages_per_visit; ++others) {
    const size_t taken =
        take_common(from, rank, out->next, static_cast<size_t>(out->end - out->next));
    out->next += taken;
    if (taken > 0) out->moved = true;
    if (out->full()) break;
    incoming message;
    const ring_reader::result result = from.next(&message);
    empty = result == ring_reader::result::none;
    if (empty) break;
    out->moved = true;
    if (result == ring_reader::result::message && message.kind == ring_message_kind::send &&
        message.size <= limits().max_send) {
      // Behind a pad.
      fill(out->next++, rank, message, make_lease(rank, message.first_cell));
    } else if (result == ring_reader::result::corrupt || !take(rank, message, out)) {
      if (health_.corrupt(rank, "it wrote a malformed message")) common_->failures.announce(rank);
      return true;
    }
  }
  if (out->moved) active_rank_ = rank;
  return empty;
}

// All but a send. False if the message makes no sense.
[[gnu::noinline]] bool shm_device::take(int rank, incoming message, batch* out) {
  take_result result = take_result::malformed;
  switch (message.kind) {
    case ring_message_kind::put_done:
      fill_remote_put(out->next, rank, message.imm);
      result = take_result::completed;
      break;
    case ring_message_kind::put_request:
    case ring_message_kind::put_imm_request:
    case ring_message_kind::get_request:
    case ring_message_kind::reply:
      result = requests_.take(rank, message, writer(rank), out->next);
      break;
    case ring_message_kind::inline_put_imm:  // behind a pad
      result = take_inline_put_imm(region_user_, rank, message.bytes, message.size,
                                   &last_put_from(rank));
      if (result == take_result::completed) fill_remote_put(out->next, rank, message.imm);
      break;
    case ring_message_kind::next_put_imm:
      result = take_next_put_imm(region_user_, rank, last_put_from(rank), message.next_put_offset,
                                 message.bytes, message.size);
      if (result == take_result::completed) fill_remote_put(out->next, rank, message.imm);
      break;
    case ring_message_kind::cooperative_put:
      result = cooperative_.take(rank, message);
      break;
    case ring_message_kind::cooperative_done:
      result = cooperative_.take_done(rank, message, out->next);
      break;
    case ring_message_kind::send:  // too large
    case ring_message_kind::pad:   // stays in the ring
      return false;
  }
  reader(rank).free(message.first_cell, message.size);
  // At once: a stream behind a request may wait for room.
  reader(rank).reclaim();
  if (result == take_result::completed) ++out->next;
  return result != take_result::malformed;
}

void shm_device::move_streams() {
  for (int r = 0; r < ranks_; ++r) {
    requests_.send_owed(r, writer(r));
    if (!writer(r).lock.try_lock()) continue;
    const std::lock_guard<ds::biased_lock> guard(writer(r).lock, std::adopt_lock);
    requests_.write_more(r, writer(r));
  }
}

// Completes the puts of this rank that their targets have finished.
void shm_device::finish_cooperative(batch* out) {
  for (int r = 0; r < ranks_ && !out->full(); ++r) {
    if (!writer(r).lock.try_lock()) continue;
    const std::lock_guard<ds::biased_lock> guard(writer(r).lock, std::adopt_lock);
    while (!out->full() && cooperative_.finish(r, out->next)) {
      ++out->next;
      out->moved = true;
    }
  }
}

void shm_device::release(const completion& received) {
  if (received.is_small) return;  // taken with its bytes
  reader(rank_of(received.lease)).free(static_cast<uint32_t>(received.lease), received.size);
}

std::optional<bool> shm_device::has_arrivals() {
  if (!poll_lock_.try_lock()) return std::nullopt;
  const std::lock_guard<ds::biased_lock> guard(poll_lock_, std::adopt_lock);
  return std::any_of(readers_.get(), readers_.get() + ranks_,
                     [](const ring_reader& from) { return !from.has_none(); });
}

// Failures.

void shm_device::check_for_failures(batch* out) {
  if (health_.check_due(std::chrono::steady_clock::now()).count() == 0) return;
  for (int r = 0; r < ranks_; ++r) {
    if (r == context_.rank() || !health_.is_alive(r)) continue;
    // A rank that ended its device before its process ended has not failed. In this order: it may
    // do both between the two checks.
    const bool has_ended = context_.rank_at(r).has_ended();
    if (!reader(r).sender_closed()) {
      if (has_ended) suspect(r, "its process has ended");
    } else if (visit(r, out)) {
      end_operations(r, out);  // as far as there is room now
    }
  }
  check_for_other_programs();
}

// A process that has executed another program still exists, and only a file shows the change: a few
// ranks per check, so that checks_of_all of them cover all ranks.
void shm_device::check_for_other_programs() {
  for (int i = 0; i < ranks_; i += checks_of_all) {
    next_check_ = next_check_ + 1 >= ranks_ ? 0 : next_check_ + 1;
    const int r = next_check_;
    if (r == context_.rank() || !health_.is_alive(r)) continue;
    if (!context_.rank_at(r).is_replaced() || reader(r).sender_closed()) continue;
    suspect(r, "its process runs another program");
  }
}

void shm_device::suspect(int rank, const char* reason) {
  if (health_.suspect(rank, reason)) common_->failures.announce(rank);
}

// Those that another lane has found, which says so in the log.
void shm_device::suspect_announced() {
  failures_seen_ = common_->failures.version();
  for (int r = 0; r < ranks_; ++r) {
    if (common_->failures.is_announced(r)) health_.suspect(r, "");
  }
}

// Settled is a rank whose ring has been read to its end.
void shm_device::report_failures(batch* out) {
  health_.confirm([&](const suspicion& one) { return visit(one.rank, out); },
                  [&](int rank) { return report_failure(rank, out); });
  active_rank_ = context_.rank();  // poll() reads the ring of this rank in any state
}

// Fails all that waits for a rank that is gone, which nobody will carry out. True if there is room
// for one more completion; false if there is more to do than the batch has room for, or another
// thread is posting to the rank.
bool shm_device::end_operations(int rank, batch* out) {
  ring_writer& to = writer(rank);
  if (!to.lock.try_lock()) return false;
  const std::lock_guard<ds::biased_lock> guard(to.lock, std::adopt_lock);
  while (!out->full()) {
    if (!requests_.give_up(rank, out->next) && !cooperative_.give_up(rank, out->next)) return true;
    ++out->next;
    out->moved = true;
  }
  return false;
}

bool shm_device::report_failure(int rank, batch* out) {
  if (!end_operations(rank, out)) return false;
  out->moved = true;
  if (common_->failures.settle(rank)) {
    *out->next++ = make_event(completion_kind::peer_failed, rank);
  }
  return true;
}

}  // namespace lci::net::shm
