#include "lci/runtime/instance/shared_memory.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/io/caches.h"
#include "lci/net/exchange.h"
#include "lci/observe/clock.h"
#include "lci/runtime/completion/impl.h"
#include "lci/runtime/core/start_failure.h"
#include "lci/runtime/core/throw.h"
#include "lci/runtime/instance/group.h"
#include "lci/runtime/instance/runtime.h"

namespace lci::rt {
namespace {

// To the address spaces of these ranks, which count as 0, 1, 2 and so on; empty: this rank does not
// reach all of them.
coll::arena::memory_access access_to(net::context& network, const std::vector<int>& ranks) {
  if (!std::all_of(ranks.begin(), ranks.end(),
                   [&network](int rank) { return network.reaches_memory(rank); })) {
    return {};
  }
  const auto read = [&network, ranks](int place, void* to, uint64_t from, size_t size) {
    return network.read_memory(ranks[static_cast<size_t>(place)], to, from, size);
  };
  const auto write = [&network, ranks](int place, uint64_t to, const void* from, size_t size) {
    return network.write_memory(ranks[static_cast<size_t>(place)], to, from, size);
  };
  return {read, write};
}

// Bytes of buffers of so many ranks of this host that stay in the caches from one operation to the
// next: three quarters, since other data are there, too. (Two ranks on a virtual machine with
// 32 MiB: results past the caches take longer with up to 12 MiB of buffers, and less time from
// 24 MiB on.)
size_t usable_caches(size_t ranks) {
  static const io::last_level_caches here = io::read_last_level_caches("/sys");
  const size_t bytes = here.bytes_for(ranks);
  return bytes > 0 ? bytes / 4 * 3 : ~size_t{0};
}

// `is_in_order`: all ranks make the operations of the memory in the same order, as pipes need it.
coll::crossovers crossovers_of(const runtime_attr_t& attr, size_t ranks, bool is_in_order) {
  const size_t in_pipe = is_in_order ? attr.coll_pipe_max_size : 0;
  // Without pipes, the other ranks would have to read the memory of this one.
  const size_t combined_in_area =
      in_pipe > 0 ? attr.coll_reduce_area_max_size : coll::arena::area_bytes;
  const size_t in_caches =
      attr.coll_cached_max_size > 0 ? attr.coll_cached_max_size : usable_caches(ranks);
  return {
      attr.coll_copy_area_max_size,           combined_in_area, attr.coll_parts_min_size, in_pipe,
      in_pipe > 0 && attr.coll_measure_paths, in_caches};
}

}  // namespace

shared_memory::host_blocks shared_memory::exchange_blocks(boot::bootstrap& boot,
                                                          net::context& network,
                                                          const char* failure) {
  net::remote_region name;
  std::string name_bytes;  // the bytes of the name of this rank's block, or none
  const auto own = network.allocate_memory(coll::arena::block_bytes());
  if (own.ok()) {
    name = network.remote_key(own->region);
    name_bytes.assign(reinterpret_cast<const char*>(&name), sizeof(name));
  } else {
    LCI_LOG(warn, "collective operations go without shared memory: ", own.status().ToString());
  }
  const auto names = net::exchange(boot, "collective-blocks", name_bytes);
  if (!names.ok()) throw_start_failure(boot, failure, names.status());
  host_blocks found;
  for (int r = 0; r < boot.size(); ++r) {
    if (!network.maps_memory_of(r)) continue;
    const std::string& bytes = (*names)[static_cast<size_t>(r)];
    void* block = nullptr;
    if (r == boot.rank()) {
      found.index = static_cast<int>(found.ranks.size());
      if (own.ok()) block = own->address;
    } else if (bytes.size() == sizeof(name)) {
      std::memcpy(&name, bytes.data(), sizeof(name));
      block = network.map_memory(r, name, coll::arena::block_bytes());
    }
    found.ranks.push_back(r);
    found.blocks.push_back(block);
  }
  return found;
}

bool shared_memory::may_complete_immediately(const comp_impl_t& comp) {
  return is_of_type(comp, attr_comp_type_t::cq) || is_of_type(comp, attr_comp_type_t::sync) ||
         is_of_type(comp, attr_comp_type_t::counter);
}

// The block is never given back before the network ends, since ranks that leave later still read
// it.
std::unique_ptr<shared_memory> shared_memory::make(runtime_impl_t& runtime, boot::bootstrap& boot,
                                                   net::context& network) {
  if (!network.maps_memory()) return nullptr;
  const char* const failure = "the ranks could not share memory for collective operations";
  auto made = make(runtime, nullptr, network, exchange_blocks(boot, network, failure), 1);
  // From here on all ranks know what all of them can do.
  const base::Status all = net::agree(boot, "collective-arenas", base::OkStatus());
  if (!all.ok()) throw_start_failure(boot, failure, all);
  return made;
}

std::unique_ptr<shared_memory> shared_memory::make(runtime_impl_t& runtime,
                                                   const group_impl_t* group, net::context& network,
                                                   host_blocks here, uint64_t numbers_per_call) {
  return std::unique_ptr<shared_memory>(
      new shared_memory(runtime, group, network, std::move(here), numbers_per_call));
}

shared_memory::shared_memory(runtime_impl_t& runtime, const group_impl_t* group,
                             net::context& network, host_blocks here, uint64_t numbers_per_call)
    : runtime_(runtime), group_(group) {
  using state = coll::arena::join_state;
  coll::arena::memory_access access = access_to(network, here.ranks);
  const bool all_mapped = std::count(here.blocks.begin(), here.blocks.end(), nullptr) == 0;
  own_state_ = !all_mapped ? state::failed : access.read ? state::readable : state::mapped;
  const coll::crossovers sizes =
      crossovers_of(runtime.attr(), here.ranks.size(), numbers_per_call == 1);
  arena_ = std::make_unique<coll::arena>(here.index, std::move(here.blocks), std::move(access),
                                         sizes, std::move(here.ranks), numbers_per_call);
}

int shared_memory::first_failed() const {
  return group_ == nullptr ? runtime_.first_failed() : group_->first_failed();
}

shared_memory::~shared_memory() {
  runtime_.count_pending_collectives(-static_cast<int>(pending_count_.load()));
  while (first_ != nullptr) {
    pending* const each = std::exchange(first_, first_->next);
    if (!each->result) each->result = errorcode_t::fatal;
    each->operation->end();
    end(each);
  }
}

void shared_memory::release(pending* each) {
  if (!each->is_of_pool) return;
  each->operation->~operation();
  pool_.recycle(static_cast<pooled*>(each));
}

void shared_memory::end(pending* each) {
  comp_impl_t* const comp = each->comp;
  const status_t status(*each->result);
  release(each);
  comp->signal(status);
}

void shared_memory::throw_reason(const coll::memory_error& error, const coll::operation& failed,
                                 const char* call, const device_impl_t* device) const {
  if (device != nullptr && device->is_gone(error.rank())) {
    throw_gone(call, runtime_.rank(), error.rank());
  }
  // That rank may have freed its buffer because it has broken off the operation.
  arena_->check_agreement(failed.number());
  throw error;
}

bool shared_memory::advance_operation(const pending& each) const {
  if (const int failed = first_failed(); __builtin_expect(failed >= 0, 0)) {
    throw_gone(each.call, runtime_.rank(), failed);
  }
  try {
    return each.operation->advance();
  } catch (const coll::memory_error& error) {
    throw_reason(error, *each.operation, each.call, runtime_.default_device());
  }
}

bool shared_memory::advance(pending* each) {
  if (each->result) return true;
  try {
    if (!advance_operation(*each)) return false;
    each->result = errorcode_t::done;
  } catch (const peer_failure_error& error) {
    each->operation->give_up(error.failed_rank());
    fail(each, error);
  } catch (const std::exception& error) {
    fail(each, error);
  }
  // Other ranks need not wait for the notification of this program.
  each->operation->end();
  return true;
}

void shared_memory::fail(pending* each, const std::exception& error) {
  each->result = errorcode_t::fatal;
  if (each->failure == nullptr) {
    LCI_LOG(error, error.what());
  } else {
    *each->failure = std::current_exception();
  }
}

bool shared_memory::start_step(const operation_maker& make, const coll::ticket& own,
                               const char* call, comp_impl_t* comp, std::exception_ptr* failure) {
  pooled* const started = from_pool(call, comp, [&](room* where) { return make(where, own); });
  started->failure = failure;
  started->since = observe::coarse_clock::seconds();
  started->result.reset();
  if (!advance(started)) {
    keep(started);
    return false;
  }
  const bool is_done = started->result == errorcode_t::done;
  release(started);
  if (is_done) return true;
  if (failure != nullptr && *failure != nullptr) std::rethrow_exception(*failure);
  throw_runtime_error(call, " failed on rank ", runtime_.rank());
}

void shared_memory::start(pending* each, bool may_complete_immediately) {
  each->since = observe::coarse_clock::seconds();
  each->result.reset();
  if (advance(each) && may_complete_immediately) {
    end(each);
    return;
  }
  keep(each);
}

void shared_memory::keep(pending* each) {
  each->next = nullptr;
  const std::lock_guard<std::mutex> guard(mutex_);
  *last_ = each;
  last_ = &each->next;
  pending_count_.fetch_add(1, std::memory_order_release);
  runtime_.count_pending_collectives(1);
}

bool shared_memory::advance() {
  pending* ended = nullptr;
  {
    const std::unique_lock<std::mutex> guard(mutex_, std::try_to_lock);
    if (!guard.owns_lock()) return false;
    pending** last_ended = &ended;
    size_t count = 0;
    pending** at = &first_;
    while (pending* const each = *at) {
      if (!advance(each)) {
        at = &each->next;
        continue;
      }
      *at = std::exchange(each->next, nullptr);
      *last_ended = each;
      last_ended = &each->next;
      ++count;
    }
    last_ = at;
    if (count == 0) return false;
    pending_count_.fetch_sub(count, std::memory_order_release);
    runtime_.count_pending_collectives(-static_cast<int>(count));
  }
  // Without the lock: a handler may start the next operation.
  std::exception_ptr failure;
  while (ended != nullptr) {
    try {
      end(std::exchange(ended, ended->next));
    } catch (...) {  // of a handler
      if (failure == nullptr) failure = std::current_exception();
    }
  }
  if (failure != nullptr) std::rethrow_exception(failure);
  return true;
}

void shared_memory::describe(observe::rank_report* report) {
  using entry = observe::rank_report::message;
  const uint32_t now = observe::coarse_clock::seconds();
  const std::lock_guard<std::mutex> guard(mutex_);
  for (const pending* each = first_; each != nullptr; each = each->next) {
    if (each->result) continue;
    entry awaited;
    awaited.what = entry::kind::receive;
    awaited.engine = group_ == nullptr ? runtime_.collective_engine()->id : group_->engine().id;
    awaited.collective = arena_->call_of(each->operation->number());
    const int peer = each->operation->awaited();
    awaited.peer = peer < 0 ? peer : arena_->name_of(peer);
    awaited.count = 1;
    awaited.seconds = now - std::min(now, each->since);
    observe::add_message(report, awaited);
  }
}

}  // namespace lci::rt
