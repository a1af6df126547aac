#include "benchmarks/perf/channel.h"

#include <cstring>
#include <new>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "benchmarks/perf/integers.h"
#include "benchmarks/perf/payload.h"

namespace perf {
namespace {

constexpr size_t cache_line = 64;

// Active messages, to what they complete: see signals.
bool lends(const options& chosen) {
  return chosen.completion == completion_kind::handler ||
         chosen.completion == completion_kind::counter;
}

size_t rounded_up(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

}  // namespace

channel::channel(const job& the_job, const options& chosen, int thread, lci::rcomp_t names_from)
    : message_sink(lends(chosen) && !chosen.validate),
      op_(chosen.op),
      one_sided_(is_one_sided(chosen.op)),
      validate_(chosen.validate),
      read_(chosen.read),
      lent_(lends(chosen)),
      in_packets_(chosen.buffers == buffer_kind::packet),
      seed_(chosen.payload_seed),
      rank_(the_job.rank()),
      peer_(the_job.peer()),
      thread_(thread),
      runtime_(the_job.runtime()),
      device_(the_job.device_of(thread)),
      batches_(chosen.window > 1 ? 2 : 1),
      batch_sizes_{chosen.window - chosen.window / 2, chosen.window / 2},
      arrival_names_(names_from),
      acknowledgement_name_(names_from + 2),
      complete_name_(names_from + 3),
      finish_name_(names_from + 4),
      stride_(rounded_up(chosen.sizes.back() + 1, cache_line)),
      landing_offset_(rounded_up(stride_ * static_cast<size_t>(validate_ ? chosen.window : 1),
                                 open_memory::page)),
      memory_(chosen.memory, 2 * landing_offset_, runtime_, device_) {
  if (op_ == operation::plan) {
    plans_.emplace(runtime_, device_, memory_.mr(), landing_offset_, batch_sizes_);
  } else {
    make_signals(chosen);
  }
  acknowledgements_ = lci::alloc_counter_x().runtime(runtime_)();
  completes_ = lci::alloc_counter_x().runtime(runtime_)();
  finishes_ = lci::alloc_counter_x().runtime(runtime_)();
  lci::register_rcomp_x(acknowledgements_).runtime(runtime_).rcomp(acknowledgement_name_)();
  lci::register_rcomp_x(completes_).runtime(runtime_).rcomp(complete_name_)();
  lci::register_rcomp_x(finishes_).runtime(runtime_).rcomp(finish_name_)();
}

void channel::make_signals(const options& chosen) {
  for (int batch = 0; batch < batches_; ++batch) {
    const auto at = static_cast<size_t>(batch);
    completions_[at] = std::make_unique<signals>(runtime_, chosen.completion, chosen.buffers,
                                                 batch_size(batch), nullptr);
    arrivals_[at] =
        std::make_unique<signals>(runtime_, chosen.completion, chosen.buffers, batch_size(batch),
                                  op_ == operation::am ? static_cast<message_sink*>(this) : nullptr,
                                  static_cast<int>(short_tag(batch)));
    if (has_named_arrivals()) {
      lci::register_rcomp_x(arrivals_[at]->comp())
          .runtime(runtime_)
          .rcomp(arrival_names_ + static_cast<lci::rcomp_t>(batch))();
    }
  }
}

channel::~channel() {
  for (int batch = 0; has_named_arrivals() && batch < batches_; ++batch) {
    lci::deregister_rcomp_x(arrival_names_ + static_cast<lci::rcomp_t>(batch)).runtime(runtime_)();
  }
  for (lci::rcomp_t name : {acknowledgement_name_, complete_name_, finish_name_}) {
    lci::deregister_rcomp_x(name).runtime(runtime_)();
  }
  lci::free_comp(&acknowledgements_);
  lci::free_comp(&completes_);
  lci::free_comp(&finishes_);
}

channel::target_memory channel::memory() const {
  target_memory own;
  own.rmr = memory_.rmr();
  if (plans_) own.blocks = plans_->targets();
  return own;
}

void channel::set_peer_memory(const target_memory& target) {
  peer_rmr_ = target.rmr;
  if (plans_) plans_->set_peer_targets(target.blocks);
}

void channel::set_size(size_t size) {
  size_.store(size, std::memory_order_relaxed);
  if (plans_) plans_->set_size(size, validate_ ? stride_ : 0);
}

void channel::begin_run() {
  if (plans_) return;
  for (int batch = 0; batch < batches_; ++batch) {
    completions_[static_cast<size_t>(batch)]->wait_here();
    arrivals_[static_cast<size_t>(batch)]->wait_here();
  }
}

payload_key channel::key(int maker, uint64_t number) const {
  return {seed_, maker, thread_, number};
}

// Initiator.

// The source of a checked operation holds the operand, and then the former value. Other operations
// have operands with which a compare-and-swap finds what it expects: the memory's initial value.
template <operation Op>
[[gnu::always_inline]] inline lci::status_t channel::try_post_atomic(int slot, uint64_t number,
                                                                     signals& completion) {
  const lci::comp_t comp = completion.comp();
  const size_t disp = landing_offset_ + offset_of(slot);
  const uint64_t operand =
      validate_ ? load_integer(source(slot), size()) : open_memory::initial_integer;
  const auto post = [&](auto op) {
    return op.device(device_).user_context(&completion).allow_done(completion.allows_done())();
  };
  if constexpr (Op == operation::compare_swap) {
    const uint64_t expected =
        validate_ ? payload_integer(key(peer_, number), size()) : open_memory::initial_integer;
    return post(lci::post_compare_swap_x(peer_, expected, operand, source(slot), size(), comp, disp,
                                         peer_rmr_));
  } else if constexpr (fetches_integer(Op)) {
    return post(lci::post_fetch_atomic_x(peer_, change_of(Op), operand, source(slot), size(), comp,
                                         disp, peer_rmr_));
  } else {
    return post(lci::post_atomic_x(peer_, change_of(Op), operand, size(), comp, disp, peer_rmr_));
  }
}

// (Of one operation each, so that what does not depend on the message is decided once.)
template <operation Op>
[[gnu::always_inline]] inline lci::status_t channel::try_post(int batch, int slot,
                                                              uint64_t number) {
  signals& completion = *completions_[static_cast<size_t>(batch)];
  const lci::comp_t comp = completion.comp();
  const bool allow_done = completion.allows_done();
  const lci::rcomp_t name = arrival_names_ + static_cast<lci::rcomp_t>(batch);
  switch (Op) {
    case operation::am:
      return lci::post_am_x(peer_, source(slot), size(), comp, name)
          .device(device_)
          .tag(validate_ ? number << 16 | short_tag(batch) : short_tag(batch))
          .user_context(&completion)
          .allow_done(allow_done)();
    case operation::send:
      return lci::post_send_x(peer_, source(slot), size(), tag_of_send(slot), comp)
          .device(device_)
          .user_context(&completion)
          .allow_done(allow_done)();
    case operation::put:
      return lci::post_put_x(peer_, source(slot), size(), comp, landing_offset_ + offset_of(slot),
                             peer_rmr_)
          .device(device_)
          .user_context(&completion)
          .allow_done(allow_done)();
    case operation::put_signal:
      return lci::post_put_x(peer_, source(slot), size(), comp, landing_offset_ + offset_of(slot),
                             peer_rmr_)
          .device(device_)
          .remote_comp(name)
          .tag(short_tag(batch))
          .user_context(&completion)
          .allow_done(allow_done)();
    case operation::get:
      return lci::post_get_x(peer_, landing(slot), size(), comp, offset_of(slot), peer_rmr_)
          .device(device_)
          .user_context(&completion)
          .allow_done(allow_done)();
    case operation::get_signal:
      return lci::post_get_x(peer_, landing(slot), size(), comp, offset_of(slot), peer_rmr_)
          .device(device_)
          .remote_comp(name)
          .tag(short_tag(batch))
          .user_context(&completion)
          .allow_done(allow_done)();
    case operation::add:
    case operation::bit_and:
    case operation::bit_or:
    case operation::bit_xor:
    case operation::fetch_add:
    case operation::swap:
    case operation::compare_swap:
      return try_post_atomic<Op>(slot, number, completion);
    default:
      throw std::logic_error("no such operation");
  }
}

template <operation Op>
void channel::post_all(int batch) {
  constexpr bool fetches = Op == operation::get || Op == operation::get_signal;
  const int count = batch_size(batch);
  const uint64_t first = posted_;
  posted_from_[static_cast<size_t>(batch)] = first;
  int done = 0;
  for (int i = 0; i < count; ++i) {
    const uint64_t number = first + static_cast<uint64_t>(i);
    const int slot = first_slot(batch) + i;
    if (validate_ && !fetches) fill_payload(key(rank_, number), source(slot), size());
    lci::status_t status = try_post<Op>(batch, slot, number);
    if (__builtin_expect(status.is_retry(), 0)) {
      waiter patience;
      do {
        patience.after(progress());
        status = try_post<Op>(batch, slot, number);
      } while (status.is_retry());
    }
    if (status.is_done()) ++done;
  }
  posted_ += static_cast<uint64_t>(count);
  completions_[static_cast<size_t>(batch)]->count_done(done);
}

void channel::start_plan(int batch) {
  const auto count = static_cast<uint64_t>(batch_size(batch));
  for (uint64_t i = 0; validate_ && i < count; ++i) {
    const int slot = first_slot(batch) + static_cast<int>(i);
    fill_payload(key(rank_, posted_ + i), source(slot), size());
  }
  plans_->start(batch);
  posted_ += count;
}

void channel::post_batch(int batch) {
  switch (op_) {
    case operation::am:
      return post_all<operation::am>(batch);
    case operation::send:
      return post_all<operation::send>(batch);
    case operation::put:
      return post_all<operation::put>(batch);
    case operation::put_signal:
      return post_all<operation::put_signal>(batch);
    case operation::get:
      return post_all<operation::get>(batch);
    case operation::get_signal:
      return post_all<operation::get_signal>(batch);
    case operation::plan:
      return start_plan(batch);
    case operation::add:
      return post_all<operation::add>(batch);
    case operation::bit_and:
      return post_all<operation::bit_and>(batch);
    case operation::bit_or:
      return post_all<operation::bit_or>(batch);
    case operation::bit_xor:
      return post_all<operation::bit_xor>(batch);
    case operation::fetch_add:
      return post_all<operation::fetch_add>(batch);
    case operation::swap:
      return post_all<operation::swap>(batch);
    case operation::compare_swap:
      return post_all<operation::compare_swap>(batch);
    default:
      throw std::logic_error(std::string(name_of(op_)) + " is not an operation of pairs");
  }
}

void channel::check_completed(int batch) {
  const bool gets = op_ == operation::get || op_ == operation::get_signal;
  if (gets || fetches_integer(op_)) {
    for (int i = 0; i < batch_size(batch); ++i) {
      const int slot = first_slot(batch) + i;
      check_payload(key(peer_, posted_from_[static_cast<size_t>(batch)] + static_cast<uint64_t>(i)),
                    gets ? landing(slot) : source(slot), size());
    }
  }
  if (one_sided_) notify_peer(complete_name_);
}

bool channel::next_is_acknowledged() {
  if (!target_learns()) return true;
  if (lci::counter_get(acknowledgements_) <= acknowledgements_seen_) return false;
  ++acknowledgements_seen_;
  return true;
}

// Both sides.

void channel::notify_peer(lci::rcomp_t name) {
  const auto message =
      lci::post_am_x(peer_, nullptr, 0, lci::COMP_NULL_RETRY, name).device(device_);
  waiter patience;
  while (!message().is_done()) patience.after(progress());
}

void channel::acknowledge() { notify_peer(acknowledgement_name_); }

void channel::finish() {
  notify_peer(finish_name_);
  ++finishes_seen_;
  wait_until([this] { return lci::counter_get(finishes_) >= finishes_seen_; });
  // This thread may be the only one that polls the device, and won't any more.
  wait_until([this] { return lci::test_drained_x().device(device_)().is_done(); });
}

}  // namespace perf
