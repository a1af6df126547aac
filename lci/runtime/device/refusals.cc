#include "lci/runtime/device/refusals.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>

#include "lci/observe/clock.h"

namespace lci::rt {
namespace {

// By a clock of seconds, on a machine that may be busy.
constexpr uint32_t longest_pause = 2;

}  // namespace

void refusals::add(int rank, size_t size, error_t answer) {
  const uint32_t now = observe::coarse_clock::seconds();
  if (last_.load(std::memory_order_relaxed) == now || !lock_.try_lock()) return;
  const std::lock_guard<ds::spinlock> guard(lock_, std::adopt_lock);
  const uint32_t last = last_.exchange(now, std::memory_order_relaxed);
  if (last > now || now - last > longest_pause) {
    first_ = now;
    is_reported_ = false;
  }
  row_.thread = ::syscall(SYS_gettid);
  row_.device = device_;
  row_.peer = rank;
  row_.size = size;
  answer_ = answer.errorcode;
}

std::optional<observe::rank_report::refusals> refusals::describe() {
  const std::lock_guard<ds::spinlock> guard(lock_);
  const uint32_t now = observe::coarse_clock::seconds();
  const uint32_t last = last_.load(std::memory_order_relaxed);
  if (last > now || now - last > longest_pause) return std::nullopt;
  observe::rank_report::refusals described = row_;
  described.answer = get_errorcode_str(answer_);
  described.seconds = now - first_;
  return described;
}

std::optional<observe::rank_report::wait> refusals::overdue(std::chrono::milliseconds patience,
                                                            uint32_t unpolled) {
  const auto row = describe();
  if (!row) return std::nullopt;
  const uint32_t lasts = std::min(row->seconds, unpolled);
  if (lasts < observe::rank_report::device::min_unpolled ||
      std::chrono::seconds(lasts) < patience) {
    return std::nullopt;
  }
  const std::lock_guard<ds::spinlock> guard(lock_);
  if (is_reported_) return std::nullopt;
  is_reported_ = true;
  observe::rank_report::wait wait;
  wait.thread = row->thread;
  wait.call = "a loop of refused posts";
  wait.peer = row->peer;
  wait.seconds = lasts;
  return wait;
}

}  // namespace lci::rt
