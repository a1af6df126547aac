#include "lci/observe/waiting.h"

#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#include <array>
#include <cstring>
#include <mutex>
#include <utility>

#include "lci/base/thread_object.h"
#include "lci/observe/call_site.h"
#include "lci/observe/subject.h"

namespace lci::observe {
namespace {

using steady = std::chrono::steady_clock;

constexpr size_t most_nested = 4;

struct listed_wait {
  wait_info info{};
  steady::time_point since;
  call_stack stack;
  bool returned = false;  // by overdue_wait
};

uint32_t seconds_since(steady::time_point since) {
  return static_cast<uint32_t>(
      std::chrono::duration_cast<std::chrono::seconds>(steady::now() - since).count());
}

// The waits of a thread.
class thread_waits final : public subject {
 public:
  thread_waits() : thread_(::syscall(SYS_gettid)), registration_(this) {}

  void begin(const wait_info& info) {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (depth_ < most_nested) {
      listed_wait& begun = waits_[depth_];
      begun.info = info;
      begun.since = steady::now();
      begun.stack = call_stack::here();
      begun.returned = false;
    }
    ++depth_;
  }
  void end() {
    const std::lock_guard<std::mutex> guard(mutex_);
    --depth_;
  }

  void describe(rank_report* report) override {
    const std::lock_guard<std::mutex> guard(mutex_);
    for (size_t i = 0; i < depth_ && i < most_nested; ++i) {
      const listed_wait& outer = waits_[i];
      while (is_repeated(i)) ++i;
      rank_report::wait entry = entry_of(waits_[i]);
      entry.seconds = seconds_since(outer.since);
      entry.place = outer.stack.caller();
      add_entry(report, &report->waits, std::move(entry));
    }
  }

  std::optional<rank_report::wait> overdue(std::chrono::milliseconds patience) override {
    const std::lock_guard<std::mutex> guard(mutex_);
    for (size_t i = 0; i < depth_ && i < most_nested; ++i) {
      listed_wait& each = waits_[i];
      if (each.returned || steady::now() - each.since < patience) continue;
      each.returned = true;
      return entry_of(each);
    }
    return std::nullopt;
  }

 private:
  // Whether the next wait is nested in one of the same call, and says more.
  bool is_repeated(size_t outer) const {
    const size_t next = outer + 1;
    return next < depth_ && next < most_nested &&
           std::strcmp(waits_[outer].info.call, waits_[next].info.call) == 0;
  }

  rank_report::wait entry_of(const listed_wait& one) const {
    rank_report::wait entry;
    entry.thread = thread_;
    entry.call = one.info.call;
    entry.peer = one.info.peer;
    entry.collective = one.info.collective;
    entry.of_message = one.info.of_message;
    entry.tag = one.info.tag;
    entry.size = one.info.size;
    entry.seconds = seconds_since(one.since);
    entry.place = one.stack.caller();
    if (one.info.object != nullptr) {
      entry.object = one.info.object;
      one.info.read_object(one.info.object, &entry);
    }
    return entry;
  }

  const int64_t thread_;
  std::mutex mutex_;
  size_t depth_ = 0;  // guarded by mutex_, as all below
  std::array<listed_wait, most_nested> waits_;
  const registration registration_;
};

}  // namespace

waiting::waiting(const wait_info& info) { base::thread_object<thread_waits>::get().begin(info); }

waiting::~waiting() { base::thread_object<thread_waits>::get().end(); }

void patient_waiting::look() {
  constexpr std::chrono::microseconds short_wait(100);
  const auto now = steady::now();
  if (rounds_ == rounds_between_looks) {
    first_look_ = now;
  } else if (now - first_look_ >= short_wait) {
    listed_.emplace(info_);
  }
}

}  // namespace lci::observe
