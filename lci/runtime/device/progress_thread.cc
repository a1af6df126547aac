#include "lci/runtime/device/progress_thread.h"

#include <poll.h>

#include <algorithm>
#include <ctime>
#include <exception>
#include <system_error>

#include "lci/base/error_text.h"
#include "lci/base/log.h"
#include "lci/runtime/check/checker.h"
#include "lci/runtime/core/first_exception.h"
#include "lci/runtime/core/throw.h"
#include "lci/runtime/device/device.h"
#include "lci/runtime/device/poll.h"

namespace lci::rt {
namespace {

using std::chrono::microseconds;

// Number of yields without progress before the first sleep. A yield comes after some tens of polls.
constexpr unsigned yields_before_sleep = 64;
constexpr microseconds first_sleep{20};

void count(std::atomic<uint64_t>* counted) {
  counted->store(counted->load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

progress_thread::progress_thread(device_impl_t& device) : device_(device) {
  if (!sleeper_.open()) {
    throw_runtime_error(
        "a progress thread (attribute progress_thread) needs a descriptor, and the process "
        "has none left; see ulimit -n");
  }
  descriptors_.push_back({sleeper_.descriptor(), POLLIN, 0});
  for (const int each : device_.wait_descriptors()) descriptors_.push_back({each, POLLIN, 0});
}

progress_thread::~progress_thread() {
  stop_.store(true, std::memory_order_release);
  sleeper_.ring();
  if (thread_.joinable()) thread_.join();
}

void progress_thread::start() {
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {
    throw_runtime_error("can't start a progress thread (attribute progress_thread): ",
                        base::start_error_text(error.code().value()));
  }
}

progress_thread::counts progress_thread::now() const {
  counts result;
  result.polls = polls_.load(std::memory_order_relaxed);
  result.sleeps = sleeps_.load(std::memory_order_relaxed);
  result.long_sleeps = long_sleeps_.load(std::memory_order_relaxed);
  return result;
}

bool progress_thread::moves() {
  count(&polls_);
  try {
    return poll(device_).is_done();
  } catch (...) {
    LCI_LOG(error, "progress thread: ", exception_text(std::current_exception()));
    return true;
  }
}

void progress_thread::run() {
  checker::note_thread_of_library();
  while (!stop_.load(std::memory_order_acquire)) {
    spin();
    sleep();
  }
}

// Until nothing has moved for a while.
void progress_thread::spin() {
  const base::poll_backoff& polls = thread_polls::own;
  uint32_t last_move = polls.yields();
  while (polls.yields() - last_move < yields_before_sleep) {
    if (!moves()) continue;
    last_move = polls.yields();
    // Else an end under load would not be seen.
    if (stop_.load(std::memory_order_acquire)) return;
  }
}

// Until something moves, or may.
void progress_thread::sleep() {
  for (microseconds longest = first_sleep; sleep_once(longest); longest *= 2) {
    if (moves()) return;
    longest = std::min(longest, net::device::long_sleep);
  }
}

// False if there is no time for that.
bool progress_thread::sleep_once(microseconds longest) {
  sleeper_.arm();
  const microseconds may_sleep = device_.arm();
  const bool sleeps = may_sleep.count() > 0 && !stop_.load(std::memory_order_acquire);
  if (sleeps) {
    const microseconds time = std::min(may_sleep, longest);
    const timespec until = {0, std::chrono::nanoseconds(time).count()};
    count(&sleeps_);
    const int ready = ppoll(descriptors_.data(), descriptors_.size(), &until, nullptr);
    if (ready == 0 && time > net::device::short_sleep) count(&long_sleeps_);
  }
  sleeper_.disarm();
  return sleeps;
}

}  // namespace lci::rt
