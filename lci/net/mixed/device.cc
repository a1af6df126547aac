#include "lci/net/mixed/device.h"

#include <algorithm>
#include <utility>

#include "lci/net/mixed/names.h"

namespace lci::net::mixed {
namespace {

constexpr uint64_t near_lease = uint64_t{1} << 63;

// The weight of a poll that finds nothing near, and of one that finds something. The far network is
// polled when the sum of weights since its last poll reaches weight_of_look.
constexpr uint32_t idle_weight = 8;
constexpr uint32_t busy_weight = 1;
constexpr uint32_t weight_of_look = 32;

device_limits common_limits(const device_limits& near, const device_limits& far) {
  device_limits both;
  both.max_inject = std::min(near.max_inject, far.max_inject);
  both.max_send = std::min(near.max_send, far.max_send);
  both.max_rma = std::min(near.max_rma, far.max_rma);
  both.needs_registration = near.needs_registration || far.needs_registration;
  both.has_put_imm = near.has_put_imm && far.has_put_imm;
  both.put_imm_bits = std::min(near.put_imm_bits, far.put_imm_bits);
  both.rma_short = std::min(near.rma_short, far.rma_short);
  both.polls_after_done = near.polls_after_done || far.polls_after_done;
  return both;
}

// The sizes of one of them, and what both must have in common.
device_limits limits_of(const device_limits& one, const device_limits& both) {
  device_limits made = both;
  made.max_inject = one.max_inject;
  made.max_send = one.max_send;
  made.max_rma = one.max_rma;
  made.needs_registration = one.needs_registration;
  made.rma_short = one.rma_short;
  made.latency_critical_piece = one.latency_critical_piece;
  made.timed_below = one.timed_below;
  return made;
}

}  // namespace

mixed_device::mixed_device(const hosts& where, std::unique_ptr<device> near,
                           std::unique_ptr<device> far)
    : device(common_limits(near->limits(), far->limits())),
      hosts_(where),
      near_limits_(limits_of(near->limits(), limits_)),
      far_limits_(limits_of(far->limits(), limits_)),
      near_(std::move(near)),
      far_(std::move(far)) {}

error_t mixed_device::post(const op& operation) {
  const int near = near_index(operation.rank);
  op routed = operation;
  if (near >= 0) {
    routed.rank = near;
    routed.local = near_of(operation.local);
    routed.remote = near_of(operation.remote);
    return near_->post(routed);
  }
  routed.local = far_of(operation.local);
  routed.remote = far_of(operation.remote);
  return far_->post(routed);
}

error_t mixed_device::post_short(short_op what, net_imm_data_t imm, void* buffer, size_t size,
                                 const remote_place* where) {
  const int near = near_index(what.rank);
  if (where == nullptr) {
    return near >= 0 ? near_->post_short({near, what.kind}, imm, buffer, size, nullptr)
                     : far_->post_short(what, imm, buffer, size, nullptr);
  }
  const remote_place there = {near >= 0 ? near_of(where->region) : far_of(where->region),
                              where->offset};
  return near >= 0 ? near_->post_short({near, what.kind}, imm, buffer, size, &there)
                   : far_->post_short(what, imm, buffer, size, &there);
}

bool mixed_device::is_got_sooner(int rank, size_t size, bool alone) const {
  const int near = near_index(rank);
  return near >= 0 ? near_->is_got_sooner(near, size, alone)
                   : far_->is_got_sooner(rank, size, alone);
}

void mixed_device::came(int rank, size_t size, bool got, std::chrono::nanoseconds time) {
  const int near = near_index(rank);
  if (near >= 0) {
    near_->came(near, size, got, time);
  } else {
    far_->came(rank, size, got, time);
  }
}

bool mixed_device::read_memory(int rank, void* to, uint64_t from, size_t size) {
  const int near = near_index(rank);
  return near >= 0 ? near_->read_memory(near, to, from, size)
                   : far_->read_memory(rank, to, from, size);
}

void* mixed_device::mapped_address(int rank, remote_region remote, uint64_t remote_offset,
                                   size_t size) {
  const int near = near_index(rank);
  if (near < 0) return nullptr;
  return near_->mapped_address(near, near_of(remote), remote_offset, size);
}

error_t mixed_device::poll(completion* out, size_t max, size_t* count) {
  *count = 0;
  error_t far = errorcode_t::retry;
  const uint32_t since_look = since_look_.load(std::memory_order_relaxed);
  if (since_look >= weight_of_look) {
    since_look_.store(0, std::memory_order_relaxed);
    // First, or neighbors that always fill `out` would keep it from being heard.
    far = poll_far(out, max, count);
    if (*count == max) return far;
  }
  size_t more = 0;
  const error_t near = poll_near(out + *count, max - *count, &more);
  *count += more;
  const uint32_t weight = near.is_done() ? busy_weight : idle_weight;
  since_look_.store(since_look_.load(std::memory_order_relaxed) + weight,
                    std::memory_order_relaxed);
  return far.is_done() ? far : near;
}

error_t mixed_device::poll_near(completion* out, size_t max, size_t* count) {
  const uint32_t polls = near_polls_.load(std::memory_order_relaxed) + 1;
  near_polls_.store(polls, std::memory_order_relaxed);
  if (polls % polls_per_look != 0 && near_->seems_idle()) return errorcode_t::retry;
  const error_t result = near_->poll(out, max, count);
  for (size_t i = 0; i < *count; ++i) {
    completion& translated = out[i];
    switch (translated.kind) {
      case completion_kind::recv:
        translated.lease |= near_lease;
        [[fallthrough]];
      case completion_kind::remote_put:
      case completion_kind::peer_failed:
        translated.rank = hosts_.neighbors[static_cast<size_t>(translated.rank)];
        break;
      case completion_kind::send:
      case completion_kind::put:
      case completion_kind::get:
        break;  // they have none
    }
  }
  return result;
}

error_t mixed_device::poll_far(completion* out, size_t max, size_t* count) {
  const error_t result = far_->poll(out, max, count);
  // The near network reports the failure of a neighbor, too, in the order of its own messages.
  completion* const end = std::remove_if(out, out + *count, [this](const completion& finished) {
    return finished.kind == completion_kind::peer_failed && near_index(finished.rank) >= 0;
  });
  *count = static_cast<size_t>(end - out);
  return result;
}

void mixed_device::release(const completion& received) {
  if ((received.lease & near_lease) == 0) {
    far_->release(received);
    return;
  }
  completion of_near = received;
  of_near.lease &= ~near_lease;
  near_->release(of_near);
}

bool mixed_device::has_left(int rank) {
  const int near = near_index(rank);
  return near >= 0 ? near_->has_left(near) : far_->has_left(rank);
}

bool mixed_device::has_died(int rank) {
  const int near = near_index(rank);
  return near >= 0 ? near_->has_died(near) : far_->has_died(rank);
}

std::optional<bool> mixed_device::has_arrivals() {
  const std::optional<bool> near = near_->has_arrivals();
  if (near == true) return near;
  const std::optional<bool> far = far_->has_arrivals();
  return far == false ? near : far;
}

bool mixed_device::drained() { return near_->drained() && far_->drained(); }

}  // namespace lci::net::mixed
