#include "lci/runtime/progress_thread.h"

#include <algorithm>
#include <chrono>
#include <exception>

#include "lci/base/backoff.h"
#include "lci/base/log.h"
#include "lci/runtime/device.h"

namespace lci::rt {
namespace {

// Yields, of which each is some tens of polls, that find nothing before the first sleep.
constexpr unsigned yields_before_sleep = 64;
constexpr std::chrono::microseconds shortest_sleep{20};
constexpr std::chrono::microseconds longest_sleep{1000};

}  // namespace

progress_thread::progress_thread(device_impl_t& device)
    : device_(device), thread_([this] { run(); }) {}

progress_thread::~progress_thread() {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool progress_thread::moves() {
  try {
    return device_.progress().is_done();
  } catch (const std::exception& error) {
    LCI_LOG(error, "progress thread: ", error.what());
    return true;
  }
}

void progress_thread::run() {
  auto sleep = shortest_sleep;
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stop_) {
    lock.unlock();
    base::poll_backoff backoff;
    while (backoff.yields() < yields_before_sleep) {
      if (moves()) {
        backoff.reset();
        sleep = shortest_sleep;
        // Else an end under load would not be seen.
        lock.lock();
        if (stop_) return;
        lock.unlock();
      } else {
        backoff.idle();
      }
    }
    lock.lock();
    while (!stop_) {
      changed_.wait_for(lock, sleep);
      if (stop_ || moves()) break;
      sleep = std::min(2 * sleep, longest_sleep);
    }
  }
}

}  // namespace lci::rt
