// Completion objects: where the end of an operation is reported (SC'25 paper, section 4.2.6).
//
// All of them may be signalled by any thread at any time. A completion object must stay allocated
// until every operation that names it has completed, and, once registered, until it is deregistered
// and no peer sends to it any more.
#ifndef LCI_API_COMP_HPP_
#define LCI_API_COMP_HPP_

#include <cstdint>

#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"

#pragma GCC visibility push(default)

namespace lci {

// The base of all completion objects. A program may derive its own and use it through
// comp_t(pointer).
class comp_impl_t {
 public:
  using attr_t = comp_attr_t;

  explicit comp_impl_t(const comp_attr_t& attributes = comp_attr_t()) : attr(attributes) {}
  virtual ~comp_impl_t() = default;
  // Called once per completed operation, by whichever thread makes progress, possibly by several at
  // the same time. Must not block, and must not wait for communication. An exception that leaves it
  // comes out of progress() after the other completions of that call have been handled.
  virtual void signal(status_t status) = 0;

  comp_attr_t attr;
};

// Frees a completion object that the library allocated and empties the handle.
class [[nodiscard]] free_comp_x : public option::runtime_option<free_comp_x>,
                                  public argument::comp_argument<free_comp_x, comp_t*> {
 public:
  [[nodiscard]] explicit free_comp_x(comp_t* comp) : comp_argument(comp) {}
  void operator()() const;
};
inline void free_comp(comp_t* comp) { free_comp_x{comp}(); }

// Signals `comp` as if an operation had completed with `status`.
class [[nodiscard]] comp_signal_x : public option::runtime_option<comp_signal_x>,
                                    public argument::comp_argument<comp_signal_x, comp_t>,
                                    public argument::status_argument<comp_signal_x, status_t> {
 public:
  [[nodiscard]] comp_signal_x(comp_t comp, status_t status)
      : comp_argument(comp), status_argument(status) {}
  void operator()() const;
};
inline void comp_signal(comp_t comp, status_t status) { comp_signal_x(comp, status)(); }

// ---- naming a completion object to other ranks ----------------------------------------------

// Makes `comp` known to the other ranks as the returned number. Ranks that register in the same
// order get the same numbers, 1, 2, 3, ... Messages for a number that is not registered here (yet)
// are dropped and reported: register before a barrier, send after it.
// With option rcomp: under that number, which reserve_rcomps returned. An empty `comp` gets a
// number, too: what is sent to it arrives, and signals nothing.
class [[nodiscard]] register_rcomp_x : public option::runtime_option<register_rcomp_x>,
                                       public option::rcomp_option<register_rcomp_x>,
                                       public argument::comp_argument<register_rcomp_x, comp_t> {
 public:
  [[nodiscard]] explicit register_rcomp_x(comp_t comp) : comp_argument(comp) {}
  rcomp_t operator()() const;
};
inline rcomp_t register_rcomp(comp_t comp) { return register_rcomp_x(comp)(); }

// Sets `n` consecutive numbers aside and returns the first.
class [[nodiscard]] reserve_rcomps_x : public option::runtime_option<reserve_rcomps_x>,
                                       public argument::n_argument<reserve_rcomps_x, rcomp_t> {
 public:
  [[nodiscard]] explicit reserve_rcomps_x(rcomp_t n) : n_argument(n) {}
  rcomp_t operator()() const;
};
inline rcomp_t reserve_rcomps(rcomp_t n) { return reserve_rcomps_x(n)(); }

// The number names nothing afterwards; it is not given out again.
class [[nodiscard]] deregister_rcomp_x
    : public option::runtime_option<deregister_rcomp_x>,
      public argument::rcomp_argument<deregister_rcomp_x, rcomp_t> {
 public:
  [[nodiscard]] explicit deregister_rcomp_x(rcomp_t rcomp) : rcomp_argument(rcomp) {}
  void operator()() const;
};
inline void deregister_rcomp(rcomp_t rcomp) { deregister_rcomp_x{rcomp}(); }

// ---- handler --------------------------------------------------------------------------------

// Calls handler(status).
class [[nodiscard]] alloc_handler_x
    : public option::runtime_option<alloc_handler_x>,
      public option::name_option<alloc_handler_x>,
      public option::user_context_option<alloc_handler_x>,
      public option::zero_copy_am_override<alloc_handler_x>,
      public option::lend_am_override<alloc_handler_x>,
      public argument::handler_argument<alloc_handler_x, comp_handler_t> {
 public:
  [[nodiscard]] explicit alloc_handler_x(comp_handler_t function) : handler_argument(function) {}
  comp_t operator()() const;
};
inline comp_t alloc_handler(comp_handler_t handler) { return alloc_handler_x(handler)(); }

// ---- completion queue -----------------------------------------------------------------------

// Statuses in the order of completion, for any number of threads on both sides.
class [[nodiscard]] alloc_cq_x : public option::runtime_option<alloc_cq_x>,
                                 public option::name_option<alloc_cq_x>,
                                 public option::user_context_option<alloc_cq_x>,
                                 public option::zero_copy_am_override<alloc_cq_x>,
                                 public option::default_length_override<alloc_cq_x>,
                                 public option::cq_type_override<alloc_cq_x> {
 public:
  [[nodiscard]] alloc_cq_x() = default;
  // Statuses that fit into an array_atomic queue; signalling a full one is an exception from
  // progress().
  comp_t operator()() const;
};
inline comp_t alloc_cq() { return alloc_cq_x()(); }

// The oldest status (is_done()), or one that is_retry() if there is none. Lock-free. The caller
// makes progress.
class [[nodiscard]] cq_pop_x : public option::runtime_option<cq_pop_x>,
                               public argument::comp_argument<cq_pop_x, comp_t> {
 public:
  [[nodiscard]] explicit cq_pop_x(comp_t comp) : comp_argument(comp) {}
  status_t operator()() const;
};
inline status_t cq_pop(comp_t comp) { return cq_pop_x(comp)(); }

// ---- counter --------------------------------------------------------------------------------

// Counts its signals.
class [[nodiscard]] alloc_counter_x : public option::runtime_option<alloc_counter_x>,
                                      public option::name_option<alloc_counter_x>,
                                      public option::user_context_option<alloc_counter_x>,
                                      public option::lend_am_override<alloc_counter_x> {
 public:
  [[nodiscard]] alloc_counter_x() = default;
  // Active messages that are only counted need no buffer.
  comp_t operator()() const;
};
inline comp_t alloc_counter() { return alloc_counter_x()(); }

class [[nodiscard]] counter_get_x : public option::runtime_option<counter_get_x>,
                                    public argument::comp_argument<counter_get_x, comp_t> {
 public:
  [[nodiscard]] explicit counter_get_x(comp_t comp) : comp_argument(comp) {}
  int64_t operator()() const;
};
inline int64_t counter_get(comp_t comp) { return counter_get_x(comp)(); }

class [[nodiscard]] counter_set_x : public option::runtime_option<counter_set_x>,
                                    public argument::comp_argument<counter_set_x, comp_t>,
                                    public argument::value_argument<counter_set_x, int64_t> {
 public:
  [[nodiscard]] counter_set_x(comp_t comp, int64_t value)
      : comp_argument(comp), value_argument(value) {}
  void operator()() const;
};
inline void counter_set(comp_t comp, int64_t value) { counter_set_x(comp, value)(); }

// ---- synchronizer ---------------------------------------------------------------------------

// Ready after `threshold` signals; a test or wait that finds it ready takes the statuses and makes
// it new. It holds the signals of one round: more than `threshold` before they are taken is an
// exception from progress(). Several threads may signal; one at a time may test or wait.
class [[nodiscard]] alloc_sync_x : public option::runtime_option<alloc_sync_x>,
                                   public option::name_option<alloc_sync_x>,
                                   public option::user_context_option<alloc_sync_x>,
                                   public option::zero_copy_am_override<alloc_sync_x>,
                                   public option::threshold_override<alloc_sync_x> {
 public:
  [[nodiscard]] alloc_sync_x() = default;
  comp_t operator()() const;
};
inline comp_t alloc_sync() { return alloc_sync_x()(); }

// True if it was ready: then `threshold` statuses have been written to p_out (may be null), in the
// order of the signals.
class [[nodiscard]] sync_test_x : public option::runtime_option<sync_test_x>,
                                  public argument::comp_argument<sync_test_x, comp_t>,
                                  public argument::p_out_argument<sync_test_x, status_t*> {
 public:
  [[nodiscard]] sync_test_x(comp_t comp, status_t* p_out)
      : comp_argument(comp), p_out_argument(p_out) {}
  bool operator()() const;
};
inline bool sync_test(comp_t comp, status_t* p_out) { return sync_test_x(comp, p_out)(); }

// Waits until it is ready, making progress on `device` meanwhile unless do_progress is false.
// Yields the processor when nothing moves. Not from inside a handler.
class [[nodiscard]] sync_wait_x : public option::runtime_option<sync_wait_x>,
                                  public option::do_progress_option<sync_wait_x>,
                                  public option::device_option<sync_wait_x>,
                                  public argument::comp_argument<sync_wait_x, comp_t>,
                                  public argument::p_out_argument<sync_wait_x, status_t*> {
 public:
  [[nodiscard]] sync_wait_x(comp_t comp, status_t* p_out)
      : comp_argument(comp), p_out_argument(p_out) {}
  void operator()() const;
};
inline void sync_wait(comp_t comp, status_t* p_out) { sync_wait_x(comp, p_out)(); }

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_COMP_HPP_
