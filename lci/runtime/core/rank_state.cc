#include "lci/runtime/core/rank_state.h"

#include <exception>

#include "lci/base/log.h"
#include "lci/observe/counting.h"
#include "lci/runtime/core/counter_sums.h"
#include "lci/runtime/core/throw.h"

namespace lci {

allocator_default_t g_allocator_default;

namespace rt {

rank_state::rank_state(runtime_impl_t& own, int rank, int size, const runtime_attr_t& attributes,
                       observe::event_sink record)
    : owner(own),
      rank_(rank),
      size_(size),
      attr_(attributes),
      counts_traffic_(observe::counts_traffic().load()),
      record_(record),
      failed_(new std::atomic<bool>[static_cast<size_t>(size)]()) {
  freed_devices_.uid = -1;
}

void rank_state::add_to_freed(const device_counters_t& last) { add(&freed_devices_, last); }

void rank_state::mark_failed(int rank) {
  failed_[static_cast<size_t>(rank)].store(true, std::memory_order_release);
  int none = -1;
  first_failed_.compare_exchange_strong(none, rank, std::memory_order_acq_rel);
  if (record_ && record_.to()->keep(observe::keep_peer_lost)) {
    LCI_LOG(info, "rank ", rank, " is gone; ", record_.to()->path(), " keeps the last events");
  }
}

// Remote completion objects.

namespace {

uintptr_t address_of(const comp_impl_t* comp) { return reinterpret_cast<uintptr_t>(comp); }

}  // namespace

rcomp_t rank_state::reserve_rcomps(rcomp_t n, const char* call) {
  const std::lock_guard<std::mutex> guard(rcomp_mutex_);
  if (n > ~rcomp_t{0} - next_rcomp_) {
    throw_invalid_argument(call, ": ", n, " more than are left");
  }
  const rcomp_t first = next_rcomp_;
  next_rcomp_ += n;
  return first;
}

void rank_state::set_rcomp(rcomp_t rcomp, comp_impl_t* comp) {
  const std::lock_guard<std::mutex> guard(rcomp_mutex_);
  if (rcomp == 0 || rcomp >= next_rcomp_) {
    throw_invalid_argument("rcomp ", rcomp, " was not given by register_rcomp or reserve_rcomps");
  }
  comp_impl_t* const before = rcomps_.get(rcomp);
  if (comp != nullptr && before != nullptr) {
    throw_logic_error("register_rcomp: ", rcomp, " is in use");
  }
  // First what can throw.
  if (comp != nullptr) names_of_comps_.emplace(address_of(comp), rcomp);
  rcomps_.set(rcomp, comp);
  if (before != nullptr) names_of_comps_.erase({address_of(before), rcomp});
}

std::vector<rcomp_t> rank_state::forget_comp(const comp_impl_t& comp) {
  const std::lock_guard<std::mutex> guard(rcomp_mutex_);
  std::vector<rcomp_t> names;
  const uintptr_t address = address_of(&comp);
  const auto begin = names_of_comps_.lower_bound({address, 0});
  auto end = begin;
  for (; end != names_of_comps_.end() && end->first == address; ++end) names.push_back(end->second);
  for (const rcomp_t each : names) rcomps_.set(each, nullptr);
  names_of_comps_.erase(begin, end);
  return names;
}

std::vector<std::pair<rcomp_t, comp_impl_t*>> rank_state::list_rcomps() const {
  const std::lock_guard<std::mutex> guard(rcomp_mutex_);
  std::vector<std::pair<rcomp_t, comp_impl_t*>> found;
  for (rcomp_t each = 1; each < next_rcomp_; ++each) {
    if (comp_impl_t* const comp = rcomps_.get(each)) found.emplace_back(each, comp);
  }
  return found;
}

void rank_state::report_no_rcomp(rcomp_t rcomp, int sender) const {
  throw_runtime_error(
      "rank ", rank(), " dropped a message of rank ", sender, " for remote completion ", rcomp,
      ", which is not registered here; register it before a barrier and send after it, and "
      "deregister or free it when no rank sends to it any more");
}

// Signals.

uint32_t rank_state::add_signal(event_signal* signal) {
  const uint32_t number = next_signal_.fetch_add(1, std::memory_order_relaxed);
  if (number == 0) throw_runtime_error("alloc_signal: all numbers have been given");
  signals_.set(number, signal);
  signals_alive_.fetch_add(1, std::memory_order_acq_rel);
  return number;
}

void rank_state::remove_signal(uint32_t number) {
  signals_.set(number, nullptr);
  signals_alive_.fetch_sub(1, std::memory_order_acq_rel);
}

void rank_state::report_no_signal(uint32_t number, int sender) const {
  throw_runtime_error("rank ", rank(), " dropped an event of rank ", sender, " for signal number ",
                      number, ", which has been freed, or never was");
}

// Memory.

void* rank_state::allocate_otherwise(size_t size, int sender) {
  void* buffer = nullptr;
  try {
    buffer = allocator_->allocate(size);
  } catch (const std::exception&) {  // reported below
  }
  if (__builtin_expect(buffer == nullptr, 0)) report_no_memory(size, sender);
  return buffer;
}

void rank_state::report_no_memory(size_t size, int sender) const {
  throw_runtime_error("rank ", rank(), " has no memory for ", size, " bytes from rank ", sender);
}

}  // namespace rt
}  // namespace lci
