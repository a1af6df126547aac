// Completion objects: where the end of an operation is reported (SC'25 paper, section 4.2.6).
//
// All of them may be signalled by any thread at any time. A completion object must stay allocated
// until every operation that names it has completed, and, once registered, until it is deregistered
// and no peer sends to it any more.
#ifndef LCI_API_COMP_HPP_
#define LCI_API_COMP_HPP_

#include <cstdint>
#include <optional>

#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"

namespace lci {

// The base of all completion objects. A program may derive its own and use it through
// comp_t(pointer).
class comp_impl_t {
 public:
  explicit comp_impl_t(const comp_attr_t& attributes = comp_attr_t()) : attr(attributes) {}
  virtual ~comp_impl_t() = default;
  // Called once per completed operation, by whichever thread makes progress, possibly by several at
  // the same time. Must not block, and must not wait for communication. An exception that leaves it
  // comes out of progress() after the other completions of that call have been handled.
  virtual void signal(status_t status) = 0;

  comp_attr_t attr;
};

// Frees a completion object that the library allocated and empties the handle.
class free_comp_x : public option::runtime_option<free_comp_x> {
 public:
  explicit free_comp_x(comp_t* comp) : comp_(comp) {}
  void operator()() const;

 private:
  comp_t* comp_;
};
inline void free_comp(comp_t* comp) { free_comp_x{comp}(); }

// Signals `comp` as if an operation had completed with `status`.
class comp_signal_x : public option::runtime_option<comp_signal_x> {
 public:
  comp_signal_x(comp_t comp, status_t status) : comp_(comp), status_(status) {}
  void operator()() const;

 private:
  comp_t comp_;
  status_t status_;
};
inline void comp_signal(comp_t comp, status_t status) { comp_signal_x(comp, status)(); }

// ---- naming a completion object to other ranks ----------------------------------------------

// Makes `comp` known to the other ranks as the returned number. Ranks that register in the same
// order get the same numbers, 1, 2, 3, ... Messages for a number that is not registered here (yet)
// are dropped and reported: register before a barrier, send after it.
// With option rcomp: under that number, which reserve_rcomps returned.
class register_rcomp_x : public option::runtime_option<register_rcomp_x>,
                         public option::rcomp_option<register_rcomp_x> {
 public:
  explicit register_rcomp_x(comp_t comp) : comp_(comp) {}
  rcomp_t operator()() const;

 private:
  comp_t comp_;
};
inline rcomp_t register_rcomp(comp_t comp) { return register_rcomp_x(comp)(); }

// Sets `n` consecutive numbers aside and returns the first.
class reserve_rcomps_x : public option::runtime_option<reserve_rcomps_x> {
 public:
  explicit reserve_rcomps_x(rcomp_t n) : n_(n) {}
  rcomp_t operator()() const;

 private:
  rcomp_t n_;
};
inline rcomp_t reserve_rcomps(rcomp_t n) { return reserve_rcomps_x(n)(); }

// The number names nothing afterwards; it is not given out again.
class deregister_rcomp_x : public option::runtime_option<deregister_rcomp_x> {
 public:
  explicit deregister_rcomp_x(rcomp_t rcomp) : rcomp_(rcomp) {}
  void operator()() const;

 private:
  rcomp_t rcomp_;
};
inline void deregister_rcomp(rcomp_t rcomp) { deregister_rcomp_x{rcomp}(); }

// ---- handler --------------------------------------------------------------------------------

// Calls handler(status).
class alloc_handler_x : public option::runtime_option<alloc_handler_x>,
                        public option::name_option<alloc_handler_x>,
                        public option::user_context_option<alloc_handler_x> {
 public:
  explicit alloc_handler_x(comp_handler_t handler) : handler_(handler) {}
  alloc_handler_x& zero_copy_am(bool value) { return zero_copy_am_ = value, *this; }
  alloc_handler_x& lend_am(bool value) { return lend_am_ = value, *this; }
  comp_t operator()() const;

 private:
  std::optional<bool> zero_copy_am_;
  std::optional<bool> lend_am_;
  comp_handler_t handler_;
};
inline comp_t alloc_handler(comp_handler_t handler) { return alloc_handler_x(handler)(); }

// ---- completion queue -----------------------------------------------------------------------

// Statuses in the order of completion, for any number of threads on both sides.
class alloc_cq_x : public option::runtime_option<alloc_cq_x>,
                   public option::name_option<alloc_cq_x>,
                   public option::user_context_option<alloc_cq_x> {
 public:
  // Statuses that fit into an array_atomic queue; signalling a full one is an exception from
  // progress().
  alloc_cq_x& default_length(int value) { return default_length_ = value, *this; }
  alloc_cq_x& cq_type(attr_cq_type_t value) { return cq_type_ = value, *this; }
  alloc_cq_x& zero_copy_am(bool value) { return zero_copy_am_ = value, *this; }
  comp_t operator()() const;

 private:
  std::optional<bool> zero_copy_am_;
  std::optional<int> default_length_;
  std::optional<attr_cq_type_t> cq_type_;
};
inline comp_t alloc_cq() { return alloc_cq_x()(); }

// The oldest status (is_done()), or one that is_retry() if there is none. Lock-free. The caller
// makes progress.
class cq_pop_x : public option::runtime_option<cq_pop_x> {
 public:
  explicit cq_pop_x(comp_t comp) : comp_(comp) {}
  status_t operator()() const;

 private:
  comp_t comp_;
};
inline status_t cq_pop(comp_t comp) { return cq_pop_x(comp)(); }

// ---- counter --------------------------------------------------------------------------------

// Counts its signals.
class alloc_counter_x : public option::runtime_option<alloc_counter_x>,
                        public option::name_option<alloc_counter_x>,
                        public option::user_context_option<alloc_counter_x> {
 public:
  // Active messages that are only counted need no buffer.
  alloc_counter_x& lend_am(bool value) { return lend_am_ = value, *this; }
  comp_t operator()() const;

 private:
  std::optional<bool> lend_am_;
};
inline comp_t alloc_counter() { return alloc_counter_x()(); }

class counter_get_x : public option::runtime_option<counter_get_x> {
 public:
  explicit counter_get_x(comp_t comp) : comp_(comp) {}
  int64_t operator()() const;

 private:
  comp_t comp_;
};
inline int64_t counter_get(comp_t comp) { return counter_get_x(comp)(); }

class counter_set_x : public option::runtime_option<counter_set_x> {
 public:
  counter_set_x(comp_t comp, int64_t value) : comp_(comp), value_(value) {}
  void operator()() const;

 private:
  comp_t comp_;
  int64_t value_;
};
inline void counter_set(comp_t comp, int64_t value) { counter_set_x(comp, value)(); }

// ---- synchronizer ---------------------------------------------------------------------------

// Ready after `threshold` signals; a test or wait that finds it ready takes the statuses and makes
// it new. It holds the signals of one round: more than `threshold` before they are taken is an
// exception from progress(). Several threads may signal; one at a time may test or wait.
class alloc_sync_x : public option::runtime_option<alloc_sync_x>,
                     public option::name_option<alloc_sync_x>,
                     public option::user_context_option<alloc_sync_x> {
 public:
  alloc_sync_x& threshold(int value) { return threshold_ = value, *this; }
  alloc_sync_x& zero_copy_am(bool value) { return zero_copy_am_ = value, *this; }
  comp_t operator()() const;

 private:
  std::optional<bool> zero_copy_am_;
  std::optional<int> threshold_;
};
inline comp_t alloc_sync() { return alloc_sync_x()(); }

// True if it was ready: then `threshold` statuses have been written to p_out (may be null), in the
// order of the signals.
class sync_test_x : public option::runtime_option<sync_test_x> {
 public:
  sync_test_x(comp_t comp, status_t* p_out) : comp_(comp), p_out_(p_out) {}
  bool operator()() const;

 private:
  comp_t comp_;
  status_t* p_out_;
};
inline bool sync_test(comp_t comp, status_t* p_out) { return sync_test_x(comp, p_out)(); }

// Waits until it is ready, making progress on `device` meanwhile unless do_progress is false.
// Yields the processor when nothing moves. Not from inside a handler.
class sync_wait_x : public option::runtime_option<sync_wait_x>,
                    public option::do_progress_option<sync_wait_x>,
                    public option::device_option<sync_wait_x> {
 public:
  sync_wait_x(comp_t comp, status_t* p_out) : comp_(comp), p_out_(p_out) {}
  void operator()() const;

 private:
  comp_t comp_;
  status_t* p_out_;
};
inline void sync_wait(comp_t comp, status_t* p_out) { sync_wait_x(comp, p_out)(); }

}  // namespace lci

#endif  // LCI_API_COMP_HPP_
