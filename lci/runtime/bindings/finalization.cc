#include "lci/runtime/bindings/finalization.h"

#include <chrono>

#include "lci/api/comm.hpp"
#include "lci/base/log.h"
#include "lci/runtime/collective/call.h"
#include "lci/runtime/device/poll.h"
#include "lci/runtime/device/wait.h"

namespace lci::rt {
namespace {

using steady = std::chrono::steady_clock;

// Nothing that survivors can still complete takes longer than this without any progress. Operations
// dropped then have no owner anymore: it has called free_runtime without waiting for them.
constexpr std::chrono::milliseconds settle_time{200};

}  // namespace

finalization::finalization(runtime_impl_t& runtime)
    : runtime_(runtime), device_(*runtime.default_device()), arrivals_(runtime.size()) {}

void finalization::arrivals::signal(status_t status) {
  // Also of a failed rank, which nothing more is expected of.
  arrived_[static_cast<size_t>(status.rank)].store(true, std::memory_order_release);
}

bool finalization::arrivals::has_arrived(int rank) const {
  return arrived_[static_cast<size_t>(rank)].load(std::memory_order_acquire);
}

namespace {
void log_failure(const peer_failure_error& failure) {
  LCI_LOG(error, "while the runtime was being freed: ", failure.what());
}
}  // namespace

void finalization::finish() {
  if (!runtime_.any_failed()) {
    try {
      return meet_all();
    } catch (const peer_failure_error& failure) {
      log_failure(failure);
    }
  }
  meet_survivors();
}

void finalization::meet_all() {
  const auto drain = [this] {
    wait_until(&device_, {"free_runtime"}, [this] { return device_.drained(); });
  };
  drain();
  final_barrier(&runtime_);
  drain();
}

bool finalization::is_finished(int rank) const {
  return rank == runtime_.rank() || is_away(rank) || arrivals_.has_arrived(rank);
}

bool finalization::is_away(int rank) const {
  return runtime_.has_failed(rank) || device_.net->has_left(rank);
}

template <class Step>
void finalization::outlive_failures(const Step& step) const {
  for (;;) {
    try {
      return step();
    } catch (const peer_failure_error& failure) {
      log_failure(failure);
    }
  }
}

// On an engine of the library's own, with a policy that nothing else there uses.
void finalization::greet(int rank) {
  if (is_finished(rank)) return;
  static_cast<void>(post_recv_x(rank, nullptr, 0, 0, &arrivals_)
                        .runtime(&runtime_)
                        .matching_engine(runtime_.address_engine())
                        .matching_policy(matching_policy_t::rank_only)
                        .allow_done(false)());
  outlive_failures([this, rank] {
    // Also if its message has arrived meanwhile: it waits for this one.
    while (!is_away(rank) && post_send_x(rank, nullptr, 0, 0, COMP_NULL)
                                 .runtime(&runtime_)
                                 .matching_engine(runtime_.address_engine())
                                 .matching_policy(matching_policy_t::rank_only)()
                                 .is_retry()) {
      poll(device_);
    }
  });
}

void finalization::meet_survivors() {
  for (int rank = 0; rank < runtime_.size(); ++rank) greet(rank);
  outlive_failures([this] {
    wait_until(&device_, {"free_runtime"}, [this] {
      for (int rank = 0; rank < runtime_.size(); ++rank) {
        if (!is_finished(rank)) return false;
      }
      return true;
    });
  });
  outlive_failures([this] {
    steady::time_point last_moved = steady::now();
    while (!device_.drained() && steady::now() - last_moved < settle_time) {
      if (poll(device_).is_done()) last_moved = steady::now();
    }
  });
}

}  // namespace lci::rt
