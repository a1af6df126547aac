// The operations of a process, as LCI_CHECK=1 checks them.
#ifndef LCI_RUNTIME_CHECK_CHECKER_H_
#define LCI_RUNTIME_CHECK_CHECKER_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "lci/api/comp.hpp"
#include "lci/api/types.hpp"
#include "lci/base/thread_counts.h"
#include "lci/observe/rank_report.h"
#include "lci/observe/subject.h"
#include "lci/runtime/check/buffer_index.h"
#include "lci/runtime/check/dropped_retries.h"
#include "lci/runtime/check/posted_operation.h"

namespace lci::rt {

class pending_operation;

struct checker_options {
  // Of a larger buffer, the first and the last half of so many bytes are summed.
  size_t most_summed = size_t{1} << 20;
  // How long operations may be pending on a device on which nobody makes progress. 0: for ever.
  std::chrono::milliseconds patience{0};
  // Called with each mistake by the thread that finds it; does not call the checker. Empty: the
  // log.
  std::function<void(const std::string&)> report = {};
};

// Looks for mistakes in what the program does with its operations, from the post of each until its
// completion object is signaled:
// - a buffer that is written to, or unmapped, while a send, active message or put reads it;
// - a buffer that a receive or get writes to, and that another pending operation has, too;
// - a completion object that is freed while an operation will signal it;
// - a post that answers retry and is not repeated;
// - operations on a device on which nobody makes progress;
// - a device or runtime that is freed while another thread is inside a call that uses it, or such a
//   call while it is being freed;
// - collective operations that differ between ranks.
// Each is reported when it is found, the first ten of a kind, or is an exception of the call.
//
// An operation with a completion object signals an object of the checker in its place, which passes
// the status on. The runtimes of a checker, and the threads that call them, end before it does.
// Their devices are known to it by add_device.
//
// Thread safety: every member by any thread at any time; they take one lock.
class checker {
 public:
  explicit checker(checker_options options);
  ~checker();
  checker(const checker&) = delete;
  checker& operator=(const checker&) = delete;

  // `polls`: a count that changes with each progress on the device; it lives until remove_device.
  void add_device(const void* device, const void* runtime, int number,
                  const base::thread_counts* polls);
  void remove_device(const void* device);

  // A call of the program that uses a device, while it is under way.
  class call {
   public:
    // `name`: a literal. Throws std::logic_error if another thread is freeing the device.
    call(checker& checks, const void* device, const char* name) : checks_(checks) {
      checks_.enter(this, device, name);
    }
    ~call() { checks_.leave(this); }
    call(const call&) = delete;
    call& operator=(const call&) = delete;

   private:
    checker& checks_;
  };
  // The same by two functions; `scope` identifies the call.
  void enter(const void* scope, const void* device, const char* name);
  void leave(const void* scope);
  // This thread is one of the library, which stops it before it frees a device: its calls are those
  // of handlers, and are never refused.
  static void note_thread_of_library();

  // While a device, or all devices of a runtime, are being freed.
  class closing {
   public:
    // `device` null: all of the runtime. `name`: what the program has called; a literal. Throws
    // std::logic_error if another thread is inside a call that uses one of the devices.
    closing(checker& checks, const void* runtime, const void* device, const char* name);
    // Calls may use those devices again that have not been freed.
    ~closing();
    closing(const closing&) = delete;
    closing& operator=(const closing&) = delete;

   private:
    bool is_closed(const void* device) const;

    checker& checks_;
    const void* const runtime_;
    const void* const device_;
  };

  // A post while it is under way. An operation without a completion object is over when its post
  // returns.
  class post {
   public:
    // Throws std::invalid_argument if the operation reads its buffer, and that is not mapped.
    post(checker& checks, const posted_operation& posted);
    // Without an answer, the post has thrown, and its operation has not begun.
    ~post();
    post(const post&) = delete;
    post& operator=(const post&) = delete;
    // The object that the operation signals in place of posted.comp; null if that is null.
    comp_impl_t* comp() const;
    void answered(const error_t& result);

   private:
    checker& checks_;
    const posted_operation posted_;
    const call call_;
    pending_operation* const pending_;
    const uint64_t id_;
    bool is_answered_ = false;
  };

  // An operation that is complete only later in any case, as a collective operation: what it
  // signals in place of posted.comp, which is not null.
  comp_impl_t* begin(const posted_operation& posted);
  // The operation of an object that begin() has returned has not begun.
  void cancel(comp_impl_t& begun);

  // Ranks that call different collective operations (collective/neighbor_check.h).
  void report_disagreement(const std::string& text) { report(kind::disagreement, text); }

  // Before the network is given these bytes of an operation that had to wait in the backlog.
  void check_before_sending(const void* bytes, size_t size);

  // A sentence for an operation that will signal `comp`, as "a send of 8 bytes to rank 1 with tag 7
  // is pending"; empty: there is none.
  std::string pending_on(const comp_impl_t& comp) const;

  // Reports, for a runtime that is about to be freed, the operations for which nobody has made
  // progress and the posts that have not been repeated.
  void report_end_of(const void* runtime);
  // The former, of a device that is about to be freed.
  void report_end_of_device(const void* device);
  // The runtime is gone, and what it has not signaled will not be.
  void forget(const void* runtime);

  // Mistakes so far, those that were not reported for their number included.
  uint64_t mistakes() const { return mistakes_.load(std::memory_order_relaxed); }

  // For the observer's thread, as of observe::subject.
  void describe(observe::rank_report*) {}
  void tick();

 private:
  friend class pending_operation;

  enum class kind : size_t { changed, overlap, unpolled, retry, disagreement, kinds };
  struct known_device {
    const void* runtime;
    int number;
    const base::thread_counts* polls;
    bool is_reported = false;
    // Of the thread that is freeing it; 0: it is not being freed.
    int64_t closed_by = 0;
    const char* closed_in = "";
  };
  struct call_under_way {
    const void* device;
    int64_t thread;
    const char* name;
  };
  using clock = std::chrono::steady_clock;

  pending_operation* add(const posted_operation& posted);
  // Null if it has been removed before.
  std::unique_ptr<pending_operation> remove(uint64_t id);
  void unlist(pending_operation* finished);                      // with the lock
  std::string overlap_of(const posted_operation& posted) const;  // with the lock; empty: none
  void report_if_changed(pending_operation* reading, const char* until);
  uint32_t polls_of(const posted_operation& posted) const;  // with the lock
  // Reports operations of the runtime or device, or of all, that have been pending for so long
  // while nobody made progress on their device.
  void report_unpolled(clock::duration age, const void* runtime, const void* device);
  void report(kind what, const std::string& text);

  const checker_options options_;
  std::atomic<uint64_t> mistakes_{0};
  std::array<std::atomic<uint64_t>, static_cast<size_t>(kind::kinds)> by_kind_{};

  mutable std::mutex mutex_;
  // All below is guarded by mutex_.
  uint64_t next_id_ = 0;
  std::unordered_map<uint64_t, pending_operation*> pending_;  // owned by the caller of remove()
  // By completion object and id, as a program may pend any number of operations on one object.
  std::map<std::pair<const comp_impl_t*, uint64_t>, pending_operation*> by_comp_;
  buffer_index<pending_operation> readers_;  // operations that read their buffers
  buffer_index<pending_operation> writers_;
  std::map<const void*, known_device> devices_;
  std::unordered_map<const void*, call_under_way> calls_;  // by scope
  dropped_retries retries_;

  const observe::listed<checker> listed_{this};
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_CHECK_CHECKER_H_
