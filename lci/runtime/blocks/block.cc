#include "lci/runtime/blocks/block.h"

#include <algorithm>
#include <atomic>
#include <exception>

#include "lci/base/strings.h"
#include "lci/observe/waiting.h"
#include "lci/runtime/check/checker.h"
#include "lci/runtime/completion/checked.h"
#include "lci/runtime/completion/signal.h"
#include "lci/runtime/core/throw.h"
#include "lci/runtime/device/poll.h"
#include "lci/runtime/instance/resolve.h"
#include "lci/runtime/instance/runtime.h"

namespace lci {
namespace rt {
namespace {

const block_t::memory_t* memory_of(const block_t& block, const device_impl_t& device) {
  const auto number = static_cast<uint32_t>(device.context.number);
  for (uint32_t i = 0; i < std::min<uint32_t>(block.networks, block_t::max_networks); ++i) {
    if (block.network[i] == number) return &block.memory[i];
  }
  return nullptr;
}

const block_t::memory_t& require_memory(const char* call, const char* which, const block_t& block,
                                        const device_impl_t& device) {
  const block_t::memory_t* const memory = memory_of(block, device);
  if (__builtin_expect(memory == nullptr, 0)) {
    throw_invalid_argument(call, ": the ", which, " block is not registered in net context ",
                           device.context.number, ", which device ", device.attr.uid,
                           " is of; register its memory there, and make the block with `also`");
  }
  return *memory;
}

remote_signal name(const rsignal_t& signal) {
  remote_signal named;
  named.signal = signal.number;
  named.event_bits = signal.nbits_event;
  named.counter = {signal.base, signal.key};
  named.counter_offset = signal.offset;
  return named;
}

}  // namespace

void check_memory(const char* call, const mr_impl_t* mr, uint64_t serial) {
  if (__builtin_expect(mr->is_live() && mr->serial == serial, 1)) return;
  mr->check_process("registered memory");
  throw_invalid_argument(call, ": the memory of the local block has been deregistered");
}

block_operation::block_operation(const char* call, direction_t direction, const block_t& local,
                                 const block_t& remote, const block_options_t& options)
    : kind_(direction == direction_t::OUT ? net::op_kind::put : net::op_kind::get),
      rank_(remote.rank),
      size_(local.size) {
  if (local.is_empty() || remote.is_empty()) {
    throw_invalid_argument(call, ": the ", local.is_empty() ? "local" : "remote",
                           " block is empty");
  }
  find_rails(call, options);
  if (local.rank != runtime_->rank()) {
    throw_invalid_argument(call, ": the local block is rank ", local.rank, "'s, and this is rank ",
                           runtime_->rank());
  }
  if (rank_ < 0 || rank_ >= runtime_->size()) {
    throw_invalid_argument(call, ": the remote block is of rank ", rank_, ", not 0 to ",
                           runtime_->size() - 1);
  }
  if (local.size != remote.size) {
    throw_invalid_argument(call, ": the local block has ", local.size, " bytes, and that of rank ",
                           rank_, " ", remote.size, "; sub_block makes parts of the same size");
  }
  const bool is_put = direction == direction_t::OUT;
  const rsignal_t& target_signal = !options.remote_signal.is_empty() ? options.remote_signal
                                   : is_put                          ? remote.recv_signal
                                                                     : remote.send_signal;
  signal_ = name(target_signal);
  find_comp(call, is_put ? local.send_signal : local.recv_signal, options.local_comp);
  choose_stripes(call, options);
  for (int rail = 0; rail < stripes_; ++rail) find_place(call, local, remote, rail);
}

void block_operation::find_rails(const char* call, const block_options_t& options) {
  if (options.rails == nullptr) {
    const target target = target_of(options.runtime, options.device, endpoint_t());
    runtime_ = target.runtime;
    rails_[static_cast<size_t>(nrails_++)] = target.device;
    if (!options.device.is_empty()) return;
    for (const auto& each : runtime_->rails()) {
      rails_[static_cast<size_t>(nrails_++)] = each.get();
    }
    return;
  }
  if (options.nrails < 1 || options.nrails > max_rails) {
    throw_invalid_argument(call, ": rails are ", options.nrails, ", not 1 to ", max_rails);
  }
  for (; nrails_ < options.nrails; ++nrails_) {
    const target target = target_of(options.runtime, options.rails[nrails_], endpoint_t());
    if (nrails_ > 0 && target.runtime != runtime_)
      throw_invalid_argument(call, ": rails are of several runtimes");
    runtime_ = target.runtime;
    rails_[static_cast<size_t>(nrails_)] = target.device;
  }
}

void block_operation::find_comp(const char* call, const rsignal_t& of_block, comp_t local_comp) {
  if (!(local_comp == COMP_NULL)) {
    comp_ = checked(local_comp, call);
  } else if (!of_block.is_empty()) {
    comp_ = runtime_->signal_at(of_block.number);
    if (comp_ == nullptr)
      throw_invalid_argument(call, ": the signal of the local block has been freed");
  }
}

void block_operation::choose_stripes(const char* call, const block_options_t& options) {
  if (__builtin_expect(nrails_ == 1, 1)) return;
  const bool aggregates = comp_ == nullptr || is_of_type(*comp_, attr_comp_type_t::signal);
  if (!aggregates) {
    if (options.rails == nullptr) return;
    throw_invalid_argument(call,
                           ": over several rails the local completion object must be a signal");
  }
  const size_t chunk = std::max<size_t>(
      options.rail_min_chunk != 0 ? options.rail_min_chunk : runtime_->attr().rail_min_chunk, 1);
  uint64_t most = std::max<size_t>(size_ / chunk, 1);
  for (int i = 0; i < nrails_ && signal_.signal != 0; ++i) {
    most = std::min(most, rails_[static_cast<size_t>(i)]->attr.max_signal_parts);
  }
  stripes_ = static_cast<int>(std::min<uint64_t>(most, static_cast<uint64_t>(nrails_)));
}

void block_operation::find_place(const char* call, const block_t& local, const block_t& remote,
                                 int rail) {
  const device_impl_t& device = *rails_[static_cast<size_t>(rail)];
  const block_t::memory_t& local_memory = require_memory(call, "local", local, device);
  const block_t::memory_t& remote_memory = require_memory(call, "remote", remote, device);
  check_memory(call, local_memory.mr, local_memory.serial);
  places_[static_cast<size_t>(rail)] = {
      local_memory.mr,
      local_memory.serial,
      static_cast<char*>(local_memory.mr->address) + local_memory.offset,
      remote_memory.base,
      remote_memory.key,
      remote_memory.offset};
}

stripe block_operation::stripe_at(int i) const {
  // Parts of nearly the same size, that begin at a cache line of the block.
  constexpr size_t line = 64;
  const auto begin_of = [this](int n) {
    if (n == stripes_) return size_;
    return static_cast<size_t>(static_cast<uint64_t>(size_) / line * static_cast<uint64_t>(n) /
                               static_cast<uint64_t>(stripes_)) *
           line;
  };
  const size_t begin = begin_of(i);
  const place& at = places_[static_cast<size_t>(i)];
  stripe made;
  made.device = rails_[static_cast<size_t>(i)];
  made.kind = kind_;
  made.rank = rank_;
  made.buffer = static_cast<char*>(at.buffer) + begin;
  made.size = begin_of(i + 1) - begin;
  made.local = at.mr->region;
  made.remote = {at.remote_base, at.remote_key};
  made.remote_offset = at.remote_offset + begin;
  made.signal = signal_;
  made.mr = at.mr;
  made.serial = at.serial;
  return made;
}

namespace {

// Counts the stripes that have not completed, for the thread that waits for all of them.
class countdown final : public comp_impl_t {
 public:
  explicit countdown(int n) : left_(n) {}
  void signal(status_t status) override {
    if (status.error.errorcode == errorcode_t::fatal) {
      failed_.store(true, std::memory_order_relaxed);
    }
    left_.fetch_sub(1, std::memory_order_release);
  }
  bool is_over() const { return left_.load(std::memory_order_acquire) == 0; }
  bool has_failed() const { return failed_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int> left_;
  std::atomic<bool> failed_{false};
};

// An exception of progress comes out when the operation is over: until then it writes to `waiting`.
void wait_for(const block_operation& operation, const countdown& waiting, const char* call,
              int rank) {
  std::exception_ptr failure;
  observe::patient_waiting listed({call, rank});
  while (!waiting.is_over()) {
    listed.round();
    for (int i = 0; i < operation.stripes(); ++i) {
      try {
        poll(operation.device(i));
      } catch (...) {
        if (failure == nullptr) failure = std::current_exception();
      }
    }
  }
  if (failure != nullptr) std::rethrow_exception(failure);
}

// Has a checker signaled in place of the operation's completion object.
[[gnu::noinline, gnu::cold]] void watch(const char* call, operation* started,
                                        const stripe& of_device) {
  runtime_impl_t& runtime = of_device.device->runtime;
  posted_operation posted;
  posted.what = started->kind == net::op_kind::put ? posted_operation::kind::put
                                                   : posted_operation::kind::get;
  posted.call = call;
  posted.rank = started->rank;
  posted.remote_offset = started->remote_offset;
  posted.buffer = started->buffer;
  posted.size = started->size;
  posted.comp = started->comp;
  posted.part = started->part;
  posted.runtime = &runtime;
  posted.device = of_device.device;
  posted.is_of_any_device = true;  // the default device makes the progress of rails
  started->comp = runtime.checks()->begin(posted);
  started->part = 0;
}

[[noreturn, gnu::noinline, gnu::cold]] void report_failure(const block_operation& operation,
                                                           const char* call, int rank) {
  operation.device(0).report_failure(
      call, rank,
      base::StrCat(": rank ", rank,
                   " is gone, or has closed the memory of its block (deregister_memory)"));
}

}  // namespace
}  // namespace rt

status_t post_block(direction_t direction, const block_t& local, const block_t& remote,
                    const block_options_t& options) {
  const char* const call = direction == direction_t::OUT ? "post_put" : "post_get";
  const rt::block_operation operation(call, direction, local, remote, options);
  rt::countdown waiting(operation.stripes());
  comp_impl_t* const comp = operation.comp() != nullptr ? operation.comp() : &waiting;
  if (comp == &waiting && rt::inside_progress()) {
    rt::throw_logic_error(call,
                          ": without a signal or local_comp it waits, which a handler may not");
  }
  for (int i = 0; i < operation.stripes(); ++i) {
    const rt::stripe stripe = operation.stripe_at(i);
    const uint32_t part =
        rt::part_number(static_cast<size_t>(i), static_cast<size_t>(operation.stripes()));
    rt::operation started;
    static_cast<net::op&>(started) = stripe;
    started.comp = comp;
    started.part = comp == &waiting ? 0 : part;
    if (__builtin_expect(stripe.device->is_watched(), 0)) rt::watch(call, &started, stripe);
    rt::remote_signal signal = stripe.signal;
    signal.part = part;
    const error_t result = stripe.device->rma.start(started, /*may_wait=*/true, signal);
    if (result.is_posted()) continue;
    const bool failed = result.errorcode == errorcode_t::fatal;
    if (failed && operation.stripes() == 1) {
      if (stripe.device->is_watched()) operation.runtime().checks()->cancel(*started.comp);
      rt::report_failure(operation, call, remote.rank);
    }
    started.signal(result.errorcode);
  }
  status_t status(errorcode_t::posted);
  status.rank = remote.rank;
  status.buffer = operation.stripe_at(0).buffer;
  status.size = local.size;
  if (comp != &waiting) return status;
  rt::wait_for(operation, waiting, call, remote.rank);
  if (waiting.has_failed()) rt::report_failure(operation, call, remote.rank);
  status.error = errorcode_t::done;
  return status;
}

// Making blocks.

namespace {

rsignal_t named(comp_t signal, const char* call) {
  if (signal == COMP_NULL) return rsignal_t();
  const rt::event_signal* const impl = rt::checked<rt::event_signal>(signal, call);
  rsignal_t made;
  made.number = impl->number();
  made.nbits_event = impl->attr.signal_nbits_event;
  if (impl->place().word != nullptr) {
    made.base = impl->place().region.base;
    made.key = impl->place().region.key;
    made.offset = impl->place().offset;
  }
  return made;
}

}  // namespace

rsignal_t get_rsignal_x::operator()() const {
  rt::checked<rt::event_signal>(get_signal(), "get_rsignal");
  return named(get_signal(), "get_rsignal");
}

make_block_x& make_block_x::also(mr_t mr) & {
  if (mrs_ == block_t::max_networks) {
    rt::throw_invalid_argument("make_block: `also` is for three more registrations");
  }
  mr_[mrs_++] = mr;
  return *this;
}

block_t make_block_x::operator()() const {
  const char* const call = "make_block";
  block_t made;
  const char* address = nullptr;
  for (int i = 0; i < mrs_; ++i) {
    const mr_impl_t* const mr = rt::registered(mr_[i], call);
    if (i == 0) {
      made.rank = mr->context.runtime.rank();
      address = static_cast<const char*>(mr->address) + offset_;
    }
    const auto offset =
        reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(mr->address);
    if (offset > mr->size || size_ > mr->size - offset) {
      rt::throw_invalid_argument(call, ": ", size_, " bytes from byte ", offset,
                                 " on are beyond the end of mr, ", mr->size, " bytes");
    }
    const net::remote_region remote = mr->context.net->remote_key(mr->region);
    made.network[i] = static_cast<uint32_t>(mr->context.number);
    made.memory[i] = {remote.base, remote.key, offset, mr_[i].p_impl, mr->serial};
    for (int j = 0; j < i; ++j) {
      if (made.network[j] == made.network[i]) {
        rt::throw_invalid_argument(call, ": two of the registrations are of the same net context");
      }
    }
  }
  made.networks = static_cast<uint32_t>(mrs_);
  made.size = size_;
  made.send_signal = named(send_signal_, call);
  made.recv_signal = named(recv_signal_, call);
  return made;
}

block_t sub_block_x::operator()() const {
  if (get_offset() > get_block().size || get_size() > get_block().size - get_offset()) {
    rt::throw_invalid_argument("sub_block: ", get_size(), " bytes from byte ", get_offset(),
                               " on are beyond the end of the block, ", get_block().size, " bytes");
  }
  block_t made = get_block();
  for (block_t::memory_t& each : made.memory) each.offset += get_offset();
  made.size = get_size();
  return made;
}

}  // namespace lci
