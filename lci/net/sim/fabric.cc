#include "lci/net/sim/fabric.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "lci/base/check.h"
#include "lci/base/strings.h"

namespace lci::net::sim {
namespace {

uint64_t checksum(const void* bytes, size_t size) {
  return base::Fnv1a({static_cast<const char*>(bytes), size});
}

std::atomic<void (*)()> step_hook{nullptr};

void step() {
  if (auto* const hook = step_hook.load(std::memory_order_acquire); hook != nullptr) hook();
}

}  // namespace

void fabric::set_step_hook(void (*hook)()) { step_hook.store(hook, std::memory_order_release); }

fabric::fabric(int ranks, const settings& how) : how_(how), ranks_(static_cast<size_t>(ranks)) {}

uint64_t fabric::trace() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return trace_;
}

void fabric::record(uint64_t a, uint64_t b, uint64_t c) {
  for (uint64_t word : {now_, a, b, c}) trace_ = (trace_ ^ word) * 0x100000001b3 + 1;
}

// Devices.

// A peer may send before the rank has opened its device.
fabric::device_state& fabric::device_of(int rank, int uid) {
  device_state& device = rank_of(rank).devices[uid];
  device.from.resize(ranks_.size());
  device.failure_due.resize(ranks_.size());
  return device;
}

void fabric::open_device(int rank, int uid) {
  const std::lock_guard<std::mutex> guard(mutex_);
  device_state& device = device_of(rank, uid);
  LCI_CHECK(!device.open, "device ", uid, " of rank ", rank, " exists already");
  device.open = true;
  device.random =
      how_.seed * 1000003 + static_cast<uint64_t>(rank) * 1009 + static_cast<uint64_t>(uid);
}

void fabric::close_device(int rank, int uid) {
  const std::lock_guard<std::mutex> guard(mutex_);
  device_state& device = device_of(rank, uid);
  LCI_CHECK(rank_of(rank).lost || device.leases.empty(), "device ", uid, " of rank ", rank,
            " ends with ", device.leases.size(), " leases");
  device.open = false;
}

bool fabric::drained(int rank, int uid) {
  const std::lock_guard<std::mutex> guard(mutex_);
  return device_of(rank, uid).posted.empty();
}

bool fabric::has_left(int rank, int uid) {
  const std::lock_guard<std::mutex> guard(mutex_);
  return !rank_of(rank).lost && !device_of(rank, uid).open;
}

bool fabric::has_arrivals(int rank, int uid) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const std::vector<channel>& from = device_of(rank, uid).from;
  return std::any_of(from.begin(), from.end(), [](const channel& path) {
    return !path.messages.empty() && path.messages.front().ready;
  });
}

bool fabric::has_died(int rank) const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return rank_of(rank).lost;
}

// Memory.

local_region fabric::register_memory(int rank, void* address, size_t size) {
  const std::lock_guard<std::mutex> guard(mutex_);
  rank_state& owner = rank_of(rank);
  const uint64_t handle = next_random(&owner.next_region) | 1;  // never 0, nor guessed
  owner.regions[handle] = {static_cast<unsigned char*>(address), size};
  return {handle};
}

void fabric::deregister_memory(int rank, local_region which) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const size_t erased = rank_of(rank).regions.erase(which.handle);
  LCI_CHECK(erased == 1, "region ", which.handle, " of rank ", rank, " is not registered");
}

remote_region fabric::remote_key(int rank, local_region which) const {
  const std::lock_guard<std::mutex> guard(mutex_);
  LCI_CHECK(rank_of(rank).regions.count(which.handle) == 1, "region ", which.handle, " of rank ",
            rank, " is not registered");
  return {static_cast<uint64_t>(rank), which.handle};
}

void* fabric::find_memory(int rank, remote_region which, size_t size) const {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto& regions = ranks_[static_cast<size_t>(rank)].regions;
  const auto found = regions.find(which.key);
  return found == regions.end() || found->second.size < size ? nullptr : found->second.base;
}

unsigned char* fabric::find_remote(const op& operation) {
  if (operation.remote.base != static_cast<uint64_t>(operation.rank)) return nullptr;
  const auto& regions = rank_of(operation.rank).regions;
  const auto found = regions.find(operation.remote.key);
  if (found == regions.end()) return nullptr;
  const region& open = found->second;
  if (operation.remote_offset > open.size || operation.size > open.size - operation.remote_offset) {
    return nullptr;
  }
  // Not null, also for memory of no bytes.
  static unsigned char nothing;
  return open.base == nullptr ? &nothing : open.base + operation.remote_offset;
}

// Posting.

// Checks the conditions that the contract leaves to the caller.
void fabric::check(int rank, const op& operation) const {
  LCI_CHECK(operation.rank >= 0 && static_cast<size_t>(operation.rank) < ranks_.size(), "rank ",
            operation.rank);
  LCI_CHECK(operation.buffer != nullptr || operation.size == 0, "no buffer");
  const bool is_send = operation.kind == op_kind::send;
  LCI_CHECK(is_send || !operation.inject, "only sends are injected");
  LCI_CHECK(operation.inject || operation.header_size == 0, "a header without inject");
  LCI_CHECK(operation.header_size <= max_header_size, "a header of ", operation.header_size);
  LCI_CHECK(operation.kind != op_kind::put_imm || how_.has_put_imm, "put_imm");
  if (operation.kind == op_kind::put_imm) {
    const int bits = how_.put_imm_bits;
    LCI_CHECK(bits >= 32 || operation.imm >> bits == 0, "immediate data of ", bits,
              " bits: ", operation.imm);
    LCI_CHECK(bits == 64 || operation.imm_high == 0, "immediate data of ", bits, " bits");
  }
  const size_t most = operation.inject ? how_.max_inject : is_send ? how_.max_send : how_.max_rma;
  LCI_CHECK(operation.size + operation.header_size <= most, "size ", operation.size, " of at most ",
            most);
  if (operation.inject || !how_.needs_registration) return;
  const auto& regions = rank_of(rank).regions;
  const auto found = regions.find(operation.local.handle);
  LCI_CHECK(found != regions.end(), "region ", operation.local.handle, " is not registered");
  const auto offset =
      static_cast<size_t>(static_cast<unsigned char*>(operation.buffer) - found->second.base);
  LCI_CHECK(operation.size == 0 ||
                (offset <= found->second.size && operation.size <= found->second.size - offset),
            "the registration does not cover the buffer");
}

bool fabric::chance(device_state& device, int percent) {
  return static_cast<int>(next_random(&device.random) % 100) < percent;
}

uint64_t fabric::due_in(device_state& device) {
  return now_ + (how_.max_delay == 0 ? 0 : next_random(&device.random) % (how_.max_delay + 1));
}

void fabric::enqueue(int rank, int uid, const op& operation, completion_kind kind, bool ready) {
  device_state& own = device_of(rank, uid);
  device_state& target = device_of(operation.rank, uid);
  channel& path = target.from[static_cast<size_t>(rank)];
  // In the order of posting: no earlier than the one before.
  path.last_due = std::max(path.last_due, due_in(own));
  path.messages.push_back(
      {kind, operation.imm, operation.imm_high, {}, path.last_due, ready, path.next_number++});
  if (kind != completion_kind::recv || !ready) return;
  std::vector<unsigned char>& bytes = path.messages.back().bytes;
  bytes.resize(operation.header_size + operation.size);
  if (operation.header_size > 0) {
    std::memcpy(bytes.data(), operation.header, operation.header_size);
  }
  if (operation.size > 0) {
    std::memcpy(bytes.data() + operation.header_size, operation.buffer, operation.size);
  }
}

// False if the target's memory is not open.
bool fabric::execute(int rank, int uid, const op& operation, const pending* was) {
  if (operation.kind == op_kind::send) {
    if (was == nullptr) {
      enqueue(rank, uid, operation, completion_kind::recv, /*ready=*/true);
      return true;
    }
    LCI_CHECK(checksum(operation.buffer, operation.size) == was->checksum,
              "the buffer of a send changed while the network had it");
    for (message& each : device_of(operation.rank, uid).from[static_cast<size_t>(rank)].messages) {
      if (each.number != was->message_number) continue;
      const auto* bytes = static_cast<const unsigned char*>(operation.buffer);
      each.bytes.assign(bytes, bytes + operation.size);
      each.ready = true;
    }
    return true;
  }
  unsigned char* remote = find_remote(operation);
  if (remote == nullptr) return false;
  if (operation.kind == op_kind::get) {
    if (operation.size > 0) std::memmove(operation.buffer, remote, operation.size);
    return true;
  }
  LCI_CHECK(was == nullptr || checksum(operation.buffer, operation.size) == was->checksum,
            "the buffer of a put changed while the network had it");
  if (operation.size > 0) std::memmove(remote, operation.buffer, operation.size);
  if (operation.kind == op_kind::put_imm) {
    enqueue(rank, uid, operation, completion_kind::remote_put, /*ready=*/true);
  }
  return true;
}

error_t fabric::post(int rank, int uid, const op& operation) {
  step();
  const std::lock_guard<std::mutex> guard(mutex_);
  check(rank, operation);
  device_state& device = device_of(rank, uid);
  record(1, static_cast<uint64_t>(operation.kind), operation.size);
  if (rank_of(rank).lost || rank_of(operation.rank).lost) return errorcode_t::fatal;
  if (chance(device, how_.refuse_percent)) {
    return chance(device, 50) ? errorcode_t::retry_lock : errorcode_t::retry_nomem;
  }
  device_state& target = device_of(operation.rank, uid);
  const bool speaks = operation.kind == op_kind::send || operation.kind == op_kind::put_imm;
  if (speaks && target.from[static_cast<size_t>(rank)].messages.size() >= how_.queue_length) {
    return errorcode_t::retry_nomem;
  }
  if (operation.kind != op_kind::send && find_remote(operation) == nullptr) {
    return errorcode_t::fatal;
  }
  if (operation.inject || !chance(device, how_.post_percent)) {
    execute(rank, uid, operation, nullptr);
    return errorcode_t::done;
  }
  pending posted{operation, due_in(device), 0, 0};
  if (operation.kind != op_kind::get) {
    posted.checksum = checksum(operation.buffer, operation.size);
  }
  if (operation.kind == op_kind::send) {
    enqueue(rank, uid, operation, completion_kind::recv, /*ready=*/false);
    posted.message_number = target.from[static_cast<size_t>(rank)].next_number - 1;
  }
  device.posted.push_back(posted);
  return errorcode_t::posted;
}

bool fabric::read_memory(int rank, int peer, void* to, uint64_t from, size_t size) {
  step();
  // Under the lock: a rank that has noticed that one of the two is lost may free its memory.
  const std::lock_guard<std::mutex> guard(mutex_);
  if (rank_of(rank).lost || rank_of(peer).lost) return false;
  record(1, static_cast<uint64_t>(op_kind::get), size);
  std::memcpy(to, reinterpret_cast<const void*>(static_cast<uintptr_t>(from)), size);
  return true;
}

bool fabric::add(int rank, int peer, remote_region remote, uint64_t remote_offset, int64_t value) {
  step();
  const std::lock_guard<std::mutex> guard(mutex_);
  LCI_CHECK(how_.has_add, "add");
  record(3, static_cast<uint64_t>(peer), static_cast<uint64_t>(value));
  if (rank_of(rank).lost || rank_of(peer).lost) {
    return false;
  }
  op where;
  where.rank = peer;
  where.remote = remote;
  where.remote_offset = remote_offset;
  where.size = sizeof(value);
  unsigned char* const word = find_remote(where);
  if (word == nullptr) return false;
  __atomic_fetch_add(reinterpret_cast<int64_t*>(word), value, __ATOMIC_RELEASE);
  return true;
}

// Polling.

error_t fabric::poll(int rank, int uid, completion* out, size_t max, size_t* count) {
  step();
  const std::lock_guard<std::mutex> guard(mutex_);
  *count = 0;
  ++now_;
  rank_state& self = rank_of(rank);
  device_state& device = device_of(rank, uid);
  if (chance(device, how_.refuse_percent / 4)) return errorcode_t::retry_lock;
  const auto write = [&](const completion& finished) {
    out[(*count)++] = finished;
    record(2, static_cast<uint64_t>(finished.kind), finished.size);
  };
  // Posted operations complete in any order.
  for (auto each = device.posted.begin(); each != device.posted.end() && *count < max;) {
    const op& operation = each->operation;
    const bool lost = self.lost || rank_of(operation.rank).lost;
    if (each->due > now_ && !lost) {
      ++each;
      continue;
    }
    const bool failed = lost || !execute(rank, uid, operation, &*each);
    write(make_completion(operation.kind, operation.rank, operation.context, failed));
    each = device.posted.erase(each);
  }
  if (self.lost) return *count > 0 ? error_t(errorcode_t::done) : errorcode_t::retry;
  // Messages of each sender in their order, senders in any.
  const size_t first = next_random(&device.random) % ranks_.size();
  for (size_t i = 0; i < ranks_.size(); ++i) {
    const size_t sender = (first + i) % ranks_.size();
    channel& path = device.from[sender];
    while (*count < max && !path.messages.empty() && path.messages.front().ready &&
           path.messages.front().due <= now_) {
      message& arrived = path.messages.front();
      completion delivered = make_event(arrived.kind, static_cast<int>(sender), arrived.imm);
      delivered.imm_high = arrived.imm_high;
      if (arrived.kind == completion_kind::recv) {
        delivered.size = arrived.bytes.size();
        delivered.lease = device.next_lease++;
        // A vector's memory is aligned to 16 and stays where it is.
        std::vector<unsigned char>& lent = device.leases[delivered.lease];
        lent = std::move(arrived.bytes);
        delivered.buffer = lent.data();
      }
      path.messages.pop_front();
      write(delivered);
    }
    if (device.failure_due[sender] != 0 && device.failure_due[sender] <= now_ && *count < max &&
        (path.messages.empty() || !path.messages.front().ready)) {
      path.messages.clear();
      device.failure_due[sender] = 0;
      write(make_event(completion_kind::peer_failed, static_cast<int>(sender)));
    }
  }
  return *count > 0 ? error_t(errorcode_t::done) : errorcode_t::retry;
}

void fabric::release(int rank, int uid, uint64_t lease) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const size_t erased = device_of(rank, uid).leases.erase(lease);
  LCI_CHECK(erased == 1, "lease ", lease, " of rank ", rank, " was released before");
}

// Loss.

void fabric::lose(int rank) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto lost = static_cast<size_t>(rank);
  if (std::exchange(ranks_[lost].lost, true)) return;
  for (size_t r = 0; r < ranks_.size(); ++r) {
    if (r == lost) continue;
    for (auto& [uid, device] : ranks_[r].devices) {
      // From some message on all are lost, and what was not read from its buffers in any case.
      std::deque<message>& messages = device.from[lost].messages;
      size_t left = messages.empty() ? 0 : next_random(&device.random) % (messages.size() + 1);
      for (size_t i = 0; i < left; ++i) {
        if (!messages[i].ready) left = i;
      }
      messages.resize(left);
      device.failure_due[lost] = due_in(device) + 1;
    }
  }
}

}  // namespace lci::net::sim
