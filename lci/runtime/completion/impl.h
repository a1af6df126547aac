// The built-in completion objects (SC'25 paper, section 5.1.4). signal() of each is what
// comp_impl_t says it is.
#ifndef LCI_RUNTIME_COMPLETION_IMPL_H_
#define LCI_RUNTIME_COMPLETION_IMPL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>

#include "lci/api/comp.hpp"
#include "lci/base/cache_aligned.h"
#include "lci/ds/array_queue.h"
#include "lci/ds/biased_lock.h"
#include "lci/ds/lcrq.h"
#include "lci/observe/subject.h"

namespace lci::rt {

// A completion object that the library allocates. A freed one can be recognized for some time by
// its comp_type: see live.h.
class library_comp : public comp_impl_t {
 public:
  using comp_impl_t::comp_impl_t;
  static void* operator new(size_t size) { return ::operator new(size); }
  static void* operator new(size_t size, std::align_val_t alignment) {
    return ::operator new(size, alignment);
  }
  static void operator delete(void* memory) { end(memory, 0); }
  static void operator delete(void* memory, std::align_val_t alignment) {
    end(memory, static_cast<size_t>(alignment));
  }

  static constexpr auto freed = static_cast<attr_comp_type_t>(0x66726565);  // "free"

 private:
  static void end(void* memory, size_t alignment);
};

// False if the library has allocated and freed it: then it is not an object any more, as the
// sanitizer sees it.
[[gnu::no_sanitize("vptr")]] inline bool is_live(const comp_impl_t& comp) {
  return comp.attr.comp_type != library_comp::freed;
}

// Whether it is of that type; then it is live.
[[gnu::no_sanitize("vptr")]] inline bool is_of_type(const comp_impl_t& comp,
                                                    attr_comp_type_t type) {
  return comp.attr.comp_type == type;
}

// Calls a function. Thread safety: that of the function.
class handler : public library_comp {
 public:
  static constexpr attr_comp_type_t type = attr_comp_type_t::handler;
  handler(const comp_attr_t& attributes, comp_handler_t function)
      : library_comp(attributes), function_(function) {}
  void signal(status_t status) override { function_(status); }
  comp_handler_t called() const { return function_; }

 private:
  const comp_handler_t function_;
};

// Counts. Wait-free. Its line is its own, as those of all objects that different threads may
// signal.
class alignas(64) counter : public library_comp {
 public:
  static constexpr attr_comp_type_t type = attr_comp_type_t::counter;
  explicit counter(const comp_attr_t& attributes) : library_comp(attributes) {}
  // Release pairs with the acquire in get: a thread that sees the count sees all writes before the
  // signal.
  void signal(status_t) override { value_.fetch_add(1, std::memory_order_release); }
  int64_t get() const { return value_.load(std::memory_order_acquire); }
  void set(int64_t value) { value_.store(value, std::memory_order_release); }

 private:
  std::atomic<int64_t> value_{0};
};

// Collects `sync_threshold` statuses. A signal blocks only for a signal of another thread, for a
// few dozen instructions. A thread that signals alone executes no locked instruction, which would
// wait for its earlier stores: those of a message go to lines in another processor's cache.
// Invariants, within a round:
//   I1  0 <= filled_ <= threshold_, and the first `filled_` statuses are written
//   I2  filled_ grows only under lock_, and the round ends only in take(), which only runs when
//       filled_ == threshold_
class alignas(64) synchronizer : public library_comp {
 public:
  static constexpr attr_comp_type_t type = attr_comp_type_t::sync;
  explicit synchronizer(const comp_attr_t& attributes);
  // The program may free a synchronizer that is ready. The signal that made it ready may still have
  // the lock then, for which the destructor waits.
  ~synchronizer() override;
  void signal(status_t status) override;
  bool ready() const;
  // For reports: see observe::wait_info.
  static void read_signals(const void* sync, observe::rank_report::wait* reported);
  // Begins the next round. Returns the first status that is fatal, if there is one. Requires ready().
  // One thread at a time.
  std::optional<status_t> take(status_t* out);

 private:
  void add(const status_t& status);
  void lock();

  alignas(64) const int threshold_;
  std::atomic<int> filled_{0};
  const base::aligned_array<status_t> statuses_;
  ds::biased_lock lock_;
};

// Statuses in the order of completion.
class completion_queue : public library_comp {
 public:
  static constexpr attr_comp_type_t type = attr_comp_type_t::cq;
  using library_comp::library_comp;
  // False if there is none; then *out means nothing.
  virtual bool pop(status_t* out) = 0;
  // Signals the statuses in this order. False: nothing has happened, and they have to be signaled
  // one by one.
  virtual bool try_signal_all(const status_t* statuses, size_t count) = 0;
};

class growing_completion_queue : public completion_queue {
 public:
  using completion_queue::completion_queue;
  void signal(status_t status) override { push(status); }
  void push(const status_t& status) { queue_.push(status); }
  bool pop(status_t* out) final { return queue_.try_pop(out); }
  bool try_signal_all(const status_t* statuses, size_t count) override {
    return queue_.try_push(statuses, count);
  }

  // For the observer's thread, as of observe::subject.
  void describe(observe::rank_report* report);

 private:
  ds::lcrq<status_t> queue_;
  const observe::listed<growing_completion_queue> listed_{this};
};

class fixed_completion_queue : public completion_queue {
 public:
  explicit fixed_completion_queue(const comp_attr_t& attributes);
  void signal(status_t status) override;
  bool pop(status_t* out) override { return queue_.try_pop(out); }
  bool try_signal_all(const status_t*, size_t) override { return false; }

 private:
  ds::array_queue<status_t> queue_;
};

// As its member, without a virtual call for the usual type.
[[gnu::always_inline]] inline bool pop(completion_queue& queue, status_t* out) {
  if (__builtin_expect(queue.attr.cq_type == attr_cq_type_t::lcrq, 1)) {
    return static_cast<growing_completion_queue&>(queue).pop(out);
  }
  return queue.pop(out);
}

// Signals an object that other ranks name, with the status that make() returns, without a virtual call
// for the usual types. The status is made where it is passed, so that it is not copied. (A rank that
// records has a forwarding_comp in the place of the object, which is of no such type.)
template <class Make>
[[gnu::always_inline]] inline void signal_registered(comp_impl_t& comp, const Make& make) {
  if (__builtin_expect(is_of_type(comp, handler::type), 1)) {
    return static_cast<const handler&>(comp).called()(make());
  }
  if (is_of_type(comp, completion_queue::type) && comp.attr.cq_type == attr_cq_type_t::lcrq) {
    return static_cast<growing_completion_queue&>(comp).push(make());
  }
  comp.signal(make());
}

// Signals the object with each of the statuses, in this order. An exception of one does not keep the
// others back, and is kept by keep_first_exception().
void signal_each(comp_impl_t& comp, const status_t* statuses, size_t count,
                 std::exception_ptr* failure);

}  // namespace lci::rt

#endif  // LCI_RUNTIME_COMPLETION_IMPL_H_
