// Progress: polls the network, and hands each completion to the
// conversation that it belongs to.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>

#include "lci/api/config.hpp"
#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/base/thread_number.h"
#include "lci/runtime/completion/impl.h"
#include "lci/runtime/core/first_exception.h"
#include "lci/runtime/core/poll_answer.h"
#include "lci/runtime/core/wire.h"
#include "lci/runtime/device/device.h"
#include "lci/runtime/device/poll.h"
#include "lci/runtime/protocol/control.h"
#include "lci/runtime/protocol/operation.h"

namespace lci {
namespace {

// How many calls of progress() this thread is inside.
thread_local int progress_depth = 0;

// Completions taken per call: few enough that another thread soon gets its share, many enough that
// the cost of polling is spread.
constexpr size_t batch_size = LCI_BACKEND_MAX_POLLS;

}  // namespace

namespace rt {
bool inside_progress() { return progress_depth > 0; }
progress_scope::progress_scope() { ++progress_depth; }
progress_scope::~progress_scope() { --progress_depth; }

progress_result_t poll_or_yield(device_impl_t& device, bool may_yield) {
  base::poll_backoff& polls = thread_polls::own;
  progress_result_t result;
  polls.poll_timed(
      &device,
      [&] {
        result = device.progress();
        return result.is_done() || !may_yield;
      },
      [&](base::poll_backoff::time_point begin) {
        if (!inside_progress()) device.yield(polls, begin);
      });
  return result;
}
}  // namespace rt

void device_impl_t::yield(base::poll_backoff& polls, std::chrono::steady_clock::time_point now) {
  if (!guard_.may_yield(base::thread_number(), now)) {
    polls.stay();
    return;
  }
  yields_.fetch_add(1, std::memory_order_relaxed);
  const uint32_t before = polls_.sum();
  const std::chrono::nanoseconds took = polls.yield();
  const bool others_polled = polls_.sum() != before;
  guard_.yielded(took, took > base::poll_backoff::long_yield, others_polled, now + took);
}

progress_result_t device_impl_t::progress() {
  const uint32_t polls = polls_.add();
  if (__builtin_expect((polls & others_mask_) == 0, 0)) return progress_with_others();
  if (polls % net::device::polls_per_look != 0 && net->seems_idle() && backlog.empty() &&
      !state.has_pending_collectives()) {
    return errorcode_t::retry;
  }
  return progress_alone();
}

[[gnu::noinline]] error_t device_impl_t::progress_with_others() {
  error_t result = progress_alone();
  // A device that always finds something would never find the time for them.
  if (state.has_pending_collectives() && advance_collectives()) result = errorcode_t::done;
  for (size_t i = 0; rails_ != nullptr && i < rails_->size(); ++i) {
    const error_t moved = (*rails_)[i]->progress_alone();
    if (moved.is_done()) result = moved;
  }
  if (shared_ == nullptr) return result;
  const bool any_thread = shared_->net->limits().serves_threads_apart;
  if (!any_thread && is_attended(*shared_)) return result;
  const error_t moved = shared_->progress();
  if (moved.is_done()) result = moved;
  if (!any_thread) shared_polls_.store(shared_->polls_.sum(), std::memory_order_relaxed);
  return result;
}

// Whether this thread leaves `shared` to another one: that has polled it since this device's last
// look. A device that one thread polls is cheaper to poll, and no thread waits for its lock. A look
// reads a line that the other thread writes at each poll, so looks become rarer while it polls.
[[gnu::always_inline]] inline bool device_impl_t::is_attended(const device_impl_t& shared) {
  constexpr uint32_t most_skipped = 15;
  const uint32_t to_skip = looks_to_skip_.load(std::memory_order_relaxed);
  const uint32_t skipped = looks_skipped_.load(std::memory_order_relaxed);
  if (skipped < to_skip) {
    looks_skipped_.store(skipped + 1, std::memory_order_relaxed);
    return true;
  }
  const uint32_t seen = shared.polls_.sum();
  const bool attended = shared_polls_.load(std::memory_order_relaxed) != seen;
  shared_polls_.store(seen, std::memory_order_relaxed);
  looks_to_skip_.store(attended ? std::min(2 * to_skip + 1, most_skipped) : 0,
                       std::memory_order_relaxed);
  looks_skipped_.store(0, std::memory_order_relaxed);
  return attended;
}

// Throws std::runtime_error, the message being dropped, if there is no such completion object or no
// memory.
[[gnu::always_inline]] inline void device_impl_t::on_am(int rank, tag_t tag, rcomp_t rcomp,
                                                        const void* bytes, size_t size) {
  comp_impl_t& comp = *state.find_rcomp(rcomp, rank);
  if (__builtin_expect(!comp.attr.lend_am, 0)) return eager.on_am(comp, rank, tag, bytes, size);
  void* const lent = size > 0 ? const_cast<void*>(bytes) : nullptr;
  rt::signal_registered(
      comp, [=]() __attribute__((always_inline)) {
        return rt::make_status(errorcode_t::done, rank, lent, size, tag, nullptr);
      });
}

// A put or get of a peer is over, and names a completion object. Throws std::runtime_error if there
// is no such object.
[[gnu::always_inline]] inline void device_impl_t::on_remote_completion(int rank, tag_t tag,
                                                                       rcomp_t rcomp) {
  rt::signal_registered(
      *state.find_rcomp(rcomp, rank), [=]() __attribute__((always_inline)) {
        return rt::make_status(errorcode_t::done, rank, nullptr, 0, tag, nullptr);
      });
}

// Handles and releases completions from `next` on, up to two short tagged messages in a row. Returns
// the first one that it has not handled, or `end`. An exception (a handler's, or a failed peer's) must
// not lose the completions behind it: it is kept by keep_first_exception().
[[gnu::always_inline]] inline const net::completion* device_impl_t::on_each(
    const net::completion* next, const net::completion* end, std::exception_ptr* failure) {
  const rt::imm_layout imm = state.imm();
  for (; next != end; ++next) {
    const net::completion& completion = *next;
    const bool arrived = __builtin_expect(completion.kind == net::completion_kind::recv, 1);
    try {
      // Most: a small active message, or one for the default matching engine.
      if (arrived && rt::is_short(completion.imm)) {
        on_am(completion.rank, imm.tag(completion.imm), imm.rcomp(completion.imm),
              completion.bytes(), completion.size);
      } else if (arrived && rt::is_short_tagged(completion.imm)) {
        if (next + 1 != end && rt::matching_engine::is_short_message(next[1])) break;
        on_tagged(completion);
      } else if (completion.kind == net::completion_kind::remote_put &&
                 rt::is_short(completion.imm) && !signals().is_event(completion.imm)) {
        on_remote_completion(completion.rank, imm.tag(completion.imm), imm.rcomp(completion.imm));
      } else {
        handle(completion);
      }
    } catch (...) {
      rt::keep_first_exception(failure);
    }
    // Its bytes are no longer read, in any case.
    if (arrived && !completion.is_small) net->release(completion);
  }
  return next;
}

// A short tagged message.
[[gnu::always_inline]] inline void device_impl_t::on_tagged(const net::completion& message) {
  engines_.find(rt::default_engine, message.rank)
      .on_eager(packets(), message.rank, rt::short_tag(message.imm), message.bytes(), message.size);
}

// As on_each(), of all, the first of which are short tagged messages: with less work for each.
[[gnu::noinline]] void device_impl_t::on_runs(const net::completion* next,
                                              const net::completion* end,
                                              std::exception_ptr* failure) {
  while (next != end) {
    size_t handled = 0;
    try {
      rt::matching_engine& engine = engines_.find(rt::default_engine, next->rank);
      handled = engine.on_eager(next, static_cast<size_t>(end - next), failure);
      // Its receive does not wait, or not where it is found fast.
      if (handled == 0) on_tagged(*next);
    } catch (...) {
      rt::keep_first_exception(failure);
    }
    for (handled = std::max<size_t>(handled, 1); handled > 0; --handled, ++next) {
      if (!next->is_small) net->release(*next);
    }
    next = on_each(next, end, failure);
  }
}

[[gnu::noinline]] error_t device_impl_t::progress_alone() {
  const bool moved = __builtin_expect(!backlog.empty(), 0) && drain_backlog();
  // Not initialized, which would take longer than a poll that finds nothing.
  // (Of words, since the compiler guards the stack behind arrays of characters.)
  static_assert(alignof(net::completion) == alignof(uint64_t));
  uint64_t storage[batch_size * sizeof(net::completion) / sizeof(uint64_t)];
  auto* const completions = reinterpret_cast<net::completion*>(storage);
  size_t count = 0;
  const error_t result = net->poll(completions, batch_size, &count);
  if (count == 0) {
    if (__builtin_expect(!rt::is_poll_answer(result), 0)) rt::report_poll_answer(result);
    if (__builtin_expect(state.has_pending_collectives(), 0) && advance_collectives()) {
      return errorcode_t::done;
    }
    return moved ? error_t(errorcode_t::done) : result;
  }
  const rt::progress_scope scope;
  std::exception_ptr failure;
  const net::completion* const end = completions + count;
  const net::completion* const next = on_each(completions, end, &failure);
  if (next != end) on_runs(next, end, &failure);
  if (failure != nullptr) std::rethrow_exception(failure);
  return errorcode_t::done;
}

[[gnu::noinline]] bool device_impl_t::advance_collectives() {
  const rt::progress_scope scope;
  return state.events().advance_collectives();
}

[[gnu::noinline]] bool device_impl_t::drain_backlog() {
  const rt::progress_scope scope;
  return backlog.drain(*this);
}

// Any but those that on_each() handles itself.
void device_impl_t::handle(const net::completion& completion) {
  switch (completion.kind) {
    case net::completion_kind::recv:
      handle_message(completion);
      return;
    case net::completion_kind::send:
    case net::completion_kind::put:
    case net::completion_kind::get:
      if (completion.context != nullptr) {
        static_cast<rt::continuation*>(completion.context)
            ->completed(*this, completion.failed ? errorcode_t::fatal : errorcode_t::done);
      }
      return;
    case net::completion_kind::remote_put:
      if (signals().is_event(completion.imm)) {
        rma.on_event(completion.rank, signals().decode(completion.imm, completion.imm_high));
      } else {
        rendezvous.on_end(completion.rank, completion.imm, /*failed=*/false);
      }
      return;
    case net::completion_kind::peer_failed:
      handle_failure(completion.rank);
      return;
  }
}

void device_impl_t::fail_conversations(int rank) {
  rendezvous.fail_peer(rank);
  atomics.fail_peer(rank);
}

void device_impl_t::handle_failure(int rank) {
  const auto failure_of = [this](int failed) {
    return peer_failure_error(
        failed, base::StrCat("lci: rank ", failed, " is gone (found by rank ", state.rank(),
                             "); communication with the other ranks continues"));
  };
  const int first = state.events().note_failure(rank);
  fail_conversations(rank);
  // The failure was reported to the program before this device noticed it.
  int reported_early = rank;
  if (reported_early_.compare_exchange_strong(reported_early, -1)) return;
  if (first != rank) {
    fail_conversations(first);
    reported_early_.store(first);
    state.events().defer_failure(failure_of(rank));
  }
  throw failure_of(first);
}

void device_impl_t::on_announced(int rank, const rt::rts_header& header, uint64_t address) {
  const rt::matching_key key = rt::key_of(header.match, rank);
  const rt::announcement announced{
      rank,           key.tag, static_cast<size_t>(header.size), header.sender_ticket, key.policy,
      key.collective, address};
  if (header.rcomp != 0) {
    rendezvous.on_am_announced(announced, header.rcomp);
    return;
  }
  rt::matching_engine* engine;
  try {
    engine = &engines_.find(header.match.engine, rank);
  } catch (...) {
    rendezvous.reject(announced);
    throw;
  }
  engine->on_announced(rendezvous, announced);
}

// All but the short ones.
void device_impl_t::handle_message(const net::completion& received) {
  const int rank = received.rank;
  const void* const begin = received.bytes();
  const auto behind = [begin](size_t header) { return static_cast<const char*>(begin) + header; };
  const rt::overloaded handle_header = {
      [&](const rt::am_header& header) {
        on_am(rank, header.tag, header.rcomp, behind(sizeof(header)),
              received.size - sizeof(header));
      },
      [&](const rt::tagged_header& header) {
        engines_.find(header.engine, rank)
            .on_eager(packets(), rt::key_of(header, rank), behind(sizeof(header)),
                      received.size - sizeof(header));
      },
      [&](const rt::rts_header& header) { on_announced(rank, header); },
      [&](const rt::rts_open_header& header) {
        on_announced(rank, header.announced(), header.address);
      },
      [&](const rt::taken_header& header) { rendezvous.on_taken(rank, header.sender_ticket); },
      [&](const rt::rtr_header& header) { rendezvous.on_rtr(rank, header); },
      [&](const rt::reject_header& header) { rendezvous.on_reject(rank, header); },
      [&](const rt::fin_header& header) {
        rendezvous.on_end(rank, header.receiver_ticket, header.failed != 0);
      },
      [&](const rt::remote_completion_header& header) {
        on_remote_completion(rank, header.tag, header.rcomp);
      },
      [&](const rt::signal_event& event) { rma.on_event(rank, event); },
      [&](const rt::atomic_header& header) {
        atomics.on_request(rank, header, behind(sizeof(header)), received.size - sizeof(header));
      },
      [&](const rt::atomic_reply_header& header) { atomics.on_reply(rank, header); }};
  if (rt::visit_header(received.imm, begin, received.size, handle_header)) return;
  LCI_LOG(error, "dropped a message of ", received.size, " bytes from rank ", rank,
          " that this version does not know (immediate data ", received.imm, ")");
}

}  // namespace lci
