#include "lci/runtime/check/checker.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "lci/base/log.h"
#include "lci/base/strings.h"
#include "lci/observe/call_site.h"
#include "lci/runtime/check/buffer_sum.h"
#include "lci/runtime/completion/signal.h"
#include "lci/runtime/core/throw.h"

namespace lci::rt {
namespace {

thread_local bool is_thread_of_library = false;

int64_t this_thread() {
  static thread_local const int64_t number = ::syscall(SYS_gettid);
  return number;
}

std::string place_of(const observe::call_stack& stack) {
  const std::string place = stack.caller();
  return place.empty() ? std::string() : base::StrCat(" at ", place);
}

comp_attr_t attributes_in_place_of(const comp_impl_t* comp) {
  comp_attr_t attr;
  if (comp != nullptr) attr = comp->attr;
  attr.comp_type = attr_comp_type_t::custom;
  return attr;
}

}  // namespace

// An operation from its post to the signal of its completion object, in whose place it is
// signaled.
class pending_operation final : public comp_impl_t {
 public:
  pending_operation(checker& of, const posted_operation& as_posted)
      : comp_impl_t(attributes_in_place_of(as_posted.comp)), checks(of), posted(as_posted) {}

  // Ends the object.
  void signal(status_t status) override {
    const std::unique_ptr<pending_operation> own = checks.remove(id);
    checks.report_if_changed(this, "was pending");
    // From now on nothing here is used: the object that is signaled may be freed at once.
    if (posted.part == 0 || status.error.errorcode == errorcode_t::fatal) {
      posted.comp->signal(status);
    } else {
      static_cast<event_signal*>(posted.comp)->arrived(posted.part);
    }
  }

  checker& checks;
  const posted_operation posted;
  uint64_t id = 0;
  const int64_t thread = this_thread();
  const observe::call_stack stack = observe::call_stack::here();
  const std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
  uint32_t polls = 0;  // of its device, when it was posted
  buffer_sum sum;
  std::atomic<bool> is_reported{false};
};

checker::checker(checker_options options) : options_(std::move(options)) {}

checker::~checker() {
  for (const auto& [unused, each] : pending_) delete each;
}

void checker::report(kind what, const std::string& text) {
  constexpr uint64_t most_reported = 10;
  mistakes_.fetch_add(1, std::memory_order_relaxed);
  const uint64_t before =
      by_kind_[static_cast<size_t>(what)].fetch_add(1, std::memory_order_relaxed);
  if (before > most_reported) return;
  const std::string said =
      before < most_reported ? text : "further mistakes of this kind are not reported";
  if (options_.report) {
    options_.report(said);
  } else {
    LCI_LOG(error, "LCI_CHECK: ", said);
  }
}

// Devices.

void checker::add_device(const void* device, const void* runtime, int number,
                         const base::thread_counts* polls) {
  const std::lock_guard<std::mutex> guard(mutex_);
  devices_.insert_or_assign(device, known_device{runtime, number, polls});
}

void checker::remove_device(const void* device) {
  const std::lock_guard<std::mutex> guard(mutex_);
  devices_.erase(device);
}

// Calls, and the end of what they use.

void checker::note_thread_of_library() { is_thread_of_library = true; }

void checker::enter(const void* scope, const void* device, const char* name) {
  if (is_thread_of_library) return;
  const int64_t thread = this_thread();
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = devices_.find(device);
  if (found == devices_.end()) return;
  const known_device& used = found->second;
  if (used.closed_by != 0 && used.closed_by != thread) {
    throw_logic_error(name, ": thread ", used.closed_by, " is freeing device ", used.number, " (",
                      used.closed_in, "), which no other thread may use meanwhile or later");
  }
  calls_.emplace(scope, call_under_way{device, thread, name});
}

void checker::leave(const void* scope) {
  if (is_thread_of_library) return;
  const std::lock_guard<std::mutex> guard(mutex_);
  calls_.erase(scope);
}

checker::closing::closing(checker& checks, const void* runtime, const void* device,
                          const char* name)
    : checks_(checks), runtime_(runtime), device_(device) {
  const int64_t thread = this_thread();
  const std::lock_guard<std::mutex> guard(checks_.mutex_);
  for (const auto& [unused, each] : checks_.calls_) {
    if (each.thread == thread || !is_closed(each.device)) continue;
    throw_logic_error(name, ": thread ", each.thread, " is inside ", each.name, " on device ",
                      checks_.devices_.at(each.device).number,
                      "; stop the threads that use the library before freeing what they use");
  }
  for (auto& [address, each] : checks_.devices_) {
    if (!is_closed(address)) continue;
    each.closed_by = thread;
    each.closed_in = name;
  }
}

checker::closing::~closing() {
  const std::lock_guard<std::mutex> guard(checks_.mutex_);
  for (auto& [address, each] : checks_.devices_) {
    if (is_closed(address)) each.closed_by = 0;
  }
}

// With the lock.
bool checker::closing::is_closed(const void* device) const {
  if (device_ != nullptr) return device == device_;
  const auto found = checks_.devices_.find(device);
  return found != checks_.devices_.end() && found->second.runtime == runtime_;
}

uint32_t checker::polls_of(const posted_operation& posted) const {
  uint32_t sum = 0;
  for (const auto& [address, each] : devices_) {
    if (posted.is_of_any_device ? each.runtime == posted.runtime : address == posted.device) {
      sum += each.polls->sum();
    }
  }
  return sum;
}

// Operations.

pending_operation* checker::add(const posted_operation& posted) {
  auto made = std::make_unique<pending_operation>(*this, posted);
  if (posted.reads_buffer() && posted.is_readable) {
    made->sum = buffer_sum(posted.buffer, posted.size, options_.most_summed);
    const buffer_sum::difference found = made->sum.compare();
    if (found.what == buffer_sum::difference::kind::unmapped) {
      throw_invalid_argument(posted.call, ": local_buffer has ", posted.size,
                             " bytes, of which bytes ", found.begin, " to ", found.end - 1,
                             " are not mapped");
    }
  }
  std::string overlap;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    overlap = overlap_of(posted);
    made->id = next_id_++;
    made->polls = polls_of(posted);
    pending_.emplace(made->id, made.get());
    if (posted.comp != nullptr) {
      by_comp_.emplace(std::make_pair(posted.comp, made->id), made.get());
    }
    if (posted.reads_buffer()) readers_.add(posted.buffer, posted.size, made.get());
    if (posted.writes_buffer()) writers_.add(posted.buffer, posted.size, made.get());
  }
  if (!overlap.empty()) report(kind::overlap, overlap);
  return made.release();
}

std::string checker::overlap_of(const posted_operation& posted) const {
  const pending_operation* other = writers_.find(posted.buffer, posted.size);
  if (other == nullptr && posted.writes_buffer()) other = readers_.find(posted.buffer, posted.size);
  if (other == nullptr || (!posted.reads_buffer() && !posted.writes_buffer())) return "";
  return base::StrCat(rt::describe(posted), " is posted with a buffer that overlaps that of ",
                      rt::describe(other->posted), ", which was posted", place_of(other->stack),
                      " and is pending; an operation has its buffer for itself until it is "
                      "complete");
}

void checker::unlist(pending_operation* finished) {
  const posted_operation& posted = finished->posted;
  if (posted.reads_buffer()) readers_.remove(posted.buffer, posted.size, finished);
  if (posted.writes_buffer()) writers_.remove(posted.buffer, posted.size, finished);
  by_comp_.erase({posted.comp, finished->id});
}

std::unique_ptr<pending_operation> checker::remove(uint64_t id) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = pending_.find(id);
  if (found == pending_.end()) return nullptr;
  std::unique_ptr<pending_operation> removed(found->second);
  pending_.erase(found);
  unlist(removed.get());
  return removed;
}

void checker::report_if_changed(pending_operation* reading, const char* until) {
  using difference = buffer_sum::difference;
  const difference found = reading->sum.compare();
  if (found.what == difference::kind::none || reading->is_reported.exchange(true)) return;
  const bool is_unmapped = found.what == difference::kind::unmapped;
  report(kind::changed,
         base::StrCat(rt::describe(reading->posted), ", posted", place_of(reading->stack),
                      ": bytes ", found.begin, " to ", found.end - 1, " of its buffer ",
                      is_unmapped ? "are no longer mapped" : "have changed", " while it ", until,
                      "; wait for its completion before ",
                      is_unmapped ? "freeing the buffer" : "writing to the buffer"));
}

comp_impl_t* checker::begin(const posted_operation& posted) { return add(posted); }

void checker::cancel(comp_impl_t& begun) {
  static_cast<void>(remove(static_cast<pending_operation&>(begun).id));
}

checker::post::post(checker& checks, const posted_operation& posted)
    : checks_(checks),
      posted_(posted),
      call_(checks, posted.device, posted.call),
      pending_(checks.add(posted)),
      id_(pending_->id) {}

comp_impl_t* checker::post::comp() const {
  return posted_.comp == nullptr ? nullptr : static_cast<comp_impl_t*>(pending_);
}

void checker::post::answered(const error_t& result) {
  is_answered_ = true;
  // Of a post that waits, the operation is over.
  if (result.is_done() && posted_.comp == nullptr) {
    checks_.report_if_changed(pending_, "was under way in a call that waits for it");
  }
  // A completion object of another kind belongs to the thread that signals it.
  if (!result.is_posted()) static_cast<void>(checks_.remove(id_));
  const std::lock_guard<std::mutex> guard(checks_.mutex_);
  if (result.is_retry()) {
    checks_.retries_.retried(posted_, this_thread());
  } else if (!checks_.retries_.empty()) {
    checks_.retries_.accepted(posted_);
  }
}

checker::post::~post() {
  if (is_answered_) return;
  // Null if the post has signaled it before it has thrown.
  static_cast<void>(checks_.remove(id_));
  const std::lock_guard<std::mutex> guard(checks_.mutex_);
  checks_.retries_.accepted(posted_);
}

void checker::check_before_sending(const void* bytes, size_t size) {
  // With the lock: the operation can't end meanwhile.
  const std::lock_guard<std::mutex> guard(mutex_);
  pending_operation* const reading = readers_.find(bytes, size);
  if (reading != nullptr) report_if_changed(reading, "was waiting to be sent");
}

std::string checker::pending_on(const comp_impl_t& comp) const {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = by_comp_.lower_bound({&comp, 0});
  if (found == by_comp_.end() || found->first.first != &comp) return "";
  return base::StrCat(rt::describe(found->second->posted), " is pending");
}

// Operations that nobody progresses, and the end.

void checker::report_unpolled(clock::duration age, const void* runtime, const void* of_device) {
  struct finding {
    uint64_t operations = 0;
    const pending_operation* first = nullptr;
  };
  std::vector<std::string> sentences;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    const clock::time_point latest = clock::now() - age;
    std::map<std::pair<const void*, int64_t>, finding> found;  // by device and thread
    for (const auto& [unused, each] : pending_) {
      const posted_operation& posted = each->posted;
      if (posted.device == nullptr || each->since > latest ||
          (runtime != nullptr && posted.runtime != runtime) ||
          (of_device != nullptr && (posted.device != of_device || posted.is_of_any_device))) {
        continue;
      }
      const auto on = devices_.find(posted.device);
      if (on == devices_.end() || on->second.is_reported || polls_of(posted) != each->polls) {
        continue;
      }
      finding& of_thread = found[{posted.device, each->thread}];
      ++of_thread.operations;
      if (of_thread.first == nullptr || each->id < of_thread.first->id) of_thread.first = each;
    }
    for (const auto& [on, each] : found) {
      known_device& unpolled = devices_.find(on.first)->second;
      unpolled.is_reported = true;
      sentences.push_back(base::StrCat(
          "thread ", on.second, " has posted ", each.operations,
          each.operations == 1 ? " operation" : " operations", " to device ", unpolled.number,
          ", and no thread has made progress on ",
          each.first->posted.is_of_any_device ? "any device" : "it",
          " since: ", rt::describe(each.first->posted), ", posted", place_of(each.first->stack),
          each.operations == 1 ? "," : ", and the others,",
          " can't complete without progress (lci::progress)"));
    }
  }
  for (const std::string& each : sentences) report(kind::unpolled, each);
}

void checker::tick() {
  if (options_.patience.count() == 0) return;
  report_unpolled(options_.patience, nullptr, nullptr);
}

void checker::report_end_of_device(const void* device) {
  report_unpolled(clock::duration::zero(), nullptr, device);
}

void checker::report_end_of(const void* runtime) {
  report_unpolled(clock::duration::zero(), runtime, nullptr);
  dropped_retries::dropped dropped;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    dropped = retries_.take(runtime);
  }
  if (dropped.posts == 0) return;
  report(kind::retry,
         base::StrCat(dropped.posts, dropped.posts == 1 ? " post" : " posts",
                      " answered retry and ", dropped.posts == 1 ? "was" : "were",
                      " not posted again, so nothing was sent or received: the first is ",
                      rt::describe(dropped.first), ", posted by thread ", dropped.thread,
                      place_of(dropped.stack)));
}

void checker::forget(const void* runtime) {
  std::vector<std::unique_ptr<pending_operation>> dropped;
  const std::lock_guard<std::mutex> guard(mutex_);
  for (auto each = pending_.begin(); each != pending_.end();) {
    if (each->second->posted.runtime != runtime) {
      ++each;
      continue;
    }
    dropped.emplace_back(each->second);
    unlist(dropped.back().get());
    each = pending_.erase(each);
  }
  static_cast<void>(retries_.take(runtime));
}

}  // namespace lci::rt
