/// @file
/// Completion objects: the end of an operation is reported to them.

/// @defgroup lci_completion Completion objects
/// The end of an operation is reported to a completion object (SC'25 paper, section 4.2.6).
///
/// Any thread may signal any completion object at any time. A completion object must stay allocated
/// until every operation that names it has completed and, if it was registered, until it is
/// deregistered and no peer sends to it anymore.
#ifndef LCI_API_COMP_HPP_
#define LCI_API_COMP_HPP_

#include <cstdint>

#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"

#pragma GCC visibility push(default)

namespace lci {

/// @addtogroup lci_completion
/// @{

/// The base of all completion objects. A program may derive classes of its own, and uses an object
/// of such a class through comp_t(pointer). The program owns that object.
class comp_impl_t {
 public:
  /// The attributes.
  using attr_t = comp_attr_t;

  /// Sets the attributes.
  explicit comp_impl_t(const comp_attr_t& attributes = comp_attr_t()) : attr(attributes) {}
  virtual ~comp_impl_t() = default;
  /// Reports a completed operation. The library calls this function once per operation, in a thread
  /// that makes progress, possibly in several threads at the same time. It must not block, and must
  /// not wait for communication. An exception that leaves it leaves progress(), too, after the
  /// other completions of that call have been processed.
  virtual void signal(status_t status) = 0;

  /// The attributes. Of an object of the program, `zero_copy_am` and `lend_am` have an effect.
  comp_attr_t attr;
};

/// An operation on a completion object: its argument `comp` and its option `runtime`.
template <class Op>
class comp_operation : public option::runtime_option<Op>,
                       public argument::comp_argument<Op, comp_t> {
 protected:
  /// Takes the argument.
  explicit comp_operation(comp_t comp) : argument::comp_argument<Op, comp_t>(comp) {}
};

/// Frees a completion object that the library allocated, ends its registrations (see
/// register_rcomp), and empties the handle. No operation of this rank may name the object anymore.
/// A message of another rank that arrives for it later is dropped, and progress() throws.
///
/// Required: `comp`. Options: `runtime`.
class [[nodiscard]] free_comp_x : public option::runtime_option<free_comp_x>,
                                  public argument::comp_argument<free_comp_x, comp_t*> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] explicit free_comp_x(comp_t* comp) : comp_argument(comp) {}
  /// Frees the object.
  /// @throws std::logic_error if the object is a graph that is running.
  /// @throws std::invalid_argument if the handle is empty or the object has been freed.
  void operator()() const;
};
/// free_comp_x with the default of every option.
/// @relates free_comp_x
inline void free_comp(comp_t* comp) { free_comp_x{comp}(); }

/// Signals a completion object as if an operation had completed with `status`. An exception of the
/// object leaves the call. Thread-safe.
///
/// Required: `comp`, `status`. Options: `runtime`.
class [[nodiscard]] comp_signal_x : public comp_operation<comp_signal_x>,
                                    public argument::status_argument<comp_signal_x, status_t> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] comp_signal_x(comp_t comp, status_t status)
      : comp_operation(comp), status_argument(status) {}
  /// Signals the object.
  /// @throws std::invalid_argument if the handle is empty or the object has been freed.
  void operator()() const;
};
/// comp_signal_x with the default of every option.
/// @relates comp_signal_x
inline void comp_signal(comp_t comp, status_t status) { comp_signal_x(comp, status)(); }

/// Makes a completion object known to the other ranks under a number. Ranks that register in the
/// same order get the same numbers: 1, 2, 3 and so on. A message for a number that is not
/// registered here, or not yet, is dropped, and progress() throws: register before a barrier, and
/// send after it.
///
/// An empty `comp` gets a number, too: a message for that number arrives and signals nothing.
///
/// Thread-safe. Required: `comp`. Options: `runtime`; `rcomp`, a number that reserve_rcomps
/// returned (0: the next free number).
class [[nodiscard]] register_rcomp_x : public comp_operation<register_rcomp_x>,
                                       public option::rcomp_option<register_rcomp_x> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] explicit register_rcomp_x(comp_t comp) : comp_operation(comp) {}
  /// Registers the object.
  /// @return the number, for the option `remote_comp` of other ranks. Valid until deregister_rcomp.
  /// @throws std::invalid_argument if `rcomp` is not a number of reserve_rcomps or register_rcomp,
  ///   or the object has been freed.
  /// @throws std::logic_error if `rcomp` is in use.
  rcomp_t operator()() const;
};
/// register_rcomp_x with the default of every option.
/// @relates register_rcomp_x
inline rcomp_t register_rcomp(comp_t comp) { return register_rcomp_x(comp)(); }

/// Reserves `n` consecutive numbers for register_rcomp_x. Thread-safe.
///
/// Required: `n`. Options: `runtime`.
class [[nodiscard]] reserve_rcomps_x : public option::runtime_option<reserve_rcomps_x>,
                                       public argument::n_argument<reserve_rcomps_x, rcomp_t> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] explicit reserve_rcomps_x(rcomp_t n) : n_argument(n) {}
  /// Reserves the numbers.
  /// @return the first number.
  /// @throws std::invalid_argument if fewer than `n` numbers are left.
  rcomp_t operator()() const;
};
/// reserve_rcomps_x with the default of every option.
/// @relates reserve_rcomps_x
inline rcomp_t reserve_rcomps(rcomp_t n) { return reserve_rcomps_x(n)(); }

/// Ends a registration. The number names nothing afterward, and register_rcomp does not give it out
/// again. Thread-safe.
///
/// Required: `rcomp`. Options: `runtime`.
class [[nodiscard]] deregister_rcomp_x
    : public option::runtime_option<deregister_rcomp_x>,
      public argument::rcomp_argument<deregister_rcomp_x, rcomp_t> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] explicit deregister_rcomp_x(rcomp_t rcomp) : rcomp_argument(rcomp) {}
  /// Ends the registration.
  /// @throws std::invalid_argument if `rcomp` is not a number of reserve_rcomps or register_rcomp.
  void operator()() const;
};
/// deregister_rcomp_x with the default of every option.
/// @relates deregister_rcomp_x
inline void deregister_rcomp(rcomp_t rcomp) { deregister_rcomp_x{rcomp}(); }

/// Allocates a handler: a completion object that calls a function with each status. The function
/// runs inside progress(); see comp_handler_t. Local.
///
/// Required: `handler`. Options: `runtime`, `name`, `user_context`, `zero_copy_am`, `lend_am`.
class [[nodiscard]] alloc_handler_x
    : public option::runtime_option<alloc_handler_x>,
      public option::name_option<alloc_handler_x>,
      public option::user_context_option<alloc_handler_x>,
      public option::zero_copy_am_override<alloc_handler_x>,
      public option::lend_am_override<alloc_handler_x>,
      public argument::handler_argument<alloc_handler_x, comp_handler_t> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] explicit alloc_handler_x(comp_handler_t function) : handler_argument(function) {}
  /// Allocates the handler.
  /// @return the handler. The program frees it by free_comp.
  /// @throws std::invalid_argument if the function is null.
  /// @throws std::logic_error if there is no runtime.
  comp_t operator()() const;
};
/// alloc_handler_x with the default of every option.
/// @relates alloc_handler_x
inline comp_t alloc_handler(comp_handler_t handler) { return alloc_handler_x(handler)(); }

/// Allocates a completion queue: it holds statuses in the order of completion. Any number of
/// threads may signal it and pop from it. Local.
///
/// A status that finds an array_atomic queue full is lost, and progress() throws
/// std::runtime_error.
///
/// Options: `runtime`, `name`, `user_context`, `zero_copy_am`, `cq_type`, `default_length`
/// (statuses that an array_atomic queue holds).
class [[nodiscard]] alloc_cq_x : public option::runtime_option<alloc_cq_x>,
                                 public option::name_option<alloc_cq_x>,
                                 public option::user_context_option<alloc_cq_x>,
                                 public option::zero_copy_am_override<alloc_cq_x>,
                                 public option::default_length_override<alloc_cq_x>,
                                 public option::cq_type_override<alloc_cq_x> {
 public:
  /// Sets every option to its default.
  [[nodiscard]] alloc_cq_x() = default;
  /// Allocates the queue.
  /// @return the queue. The program frees it by free_comp.
  /// @throws std::invalid_argument if `default_length` is less than 1.
  /// @throws std::logic_error if there is no runtime.
  comp_t operator()() const;
};
/// alloc_cq_x with the default of every option.
/// @relates alloc_cq_x
inline comp_t alloc_cq() { return alloc_cq_x()(); }

/// Takes the oldest status from a completion queue. Lock-free and thread-safe. The call does not
/// make progress.
///
/// Required: `comp`. Options: `runtime`.
class [[nodiscard]] cq_pop_x : public comp_operation<cq_pop_x> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] explicit cq_pop_x(comp_t comp) : comp_operation(comp) {}
  /// Takes a status.
  /// @return the oldest status (is_done(), or `fatal`), or a status with is_retry() if the queue is
  ///   empty.
  /// @throws std::invalid_argument if the handle is empty, the object has been freed, or it is of
  ///   another kind.
  status_t operator()() const;
};
/// cq_pop_x with the default of every option.
/// @relates cq_pop_x
inline status_t cq_pop(comp_t comp) { return cq_pop_x(comp)(); }

/// Allocates a counter: it counts its signals. Local. With `lend_am`, active messages that are only
/// counted need no buffer.
///
/// Options: `runtime`, `name`, `user_context`, `lend_am`.
class [[nodiscard]] alloc_counter_x : public option::runtime_option<alloc_counter_x>,
                                      public option::name_option<alloc_counter_x>,
                                      public option::user_context_option<alloc_counter_x>,
                                      public option::lend_am_override<alloc_counter_x> {
 public:
  /// Sets every option to its default.
  [[nodiscard]] alloc_counter_x() = default;
  /// Allocates the counter.
  /// @return the counter, with the value 0. The program frees it by free_comp.
  /// @throws std::logic_error if there is no runtime.
  comp_t operator()() const;
};
/// alloc_counter_x with the default of every option.
/// @relates alloc_counter_x
inline comp_t alloc_counter() { return alloc_counter_x()(); }

/// Returns the value of a counter. Thread-safe: a thread that sees a count sees what was done
/// before the signals.
///
/// Required: `comp`. Options: `runtime`.
class [[nodiscard]] counter_get_x : public comp_operation<counter_get_x> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] explicit counter_get_x(comp_t comp) : comp_operation(comp) {}
  /// Returns the value.
  /// @throws std::invalid_argument if the handle is empty, the object has been freed, or it is of
  ///   another kind.
  int64_t operator()() const;
};
/// counter_get_x with the default of every option.
/// @relates counter_get_x
inline int64_t counter_get(comp_t comp) { return counter_get_x(comp)(); }

/// Sets the value of a counter. Thread-safe.
///
/// Required: `comp`, `value`. Options: `runtime`.
class [[nodiscard]] counter_set_x : public comp_operation<counter_set_x>,
                                    public argument::value_argument<counter_set_x, int64_t> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] counter_set_x(comp_t comp, int64_t value)
      : comp_operation(comp), value_argument(value) {}
  /// Sets the value.
  /// @throws std::invalid_argument if the handle is empty, the object has been freed, or it is of
  ///   another kind.
  void operator()() const;
};
/// counter_set_x with the default of every option.
/// @relates counter_set_x
inline void counter_set(comp_t comp, int64_t value) { counter_set_x(comp, value)(); }

/// Allocates a synchronizer: it is ready after `threshold` signals. A test or wait that finds it
/// ready takes the statuses and resets it. Local.
///
/// A synchronizer holds the signals of one round: of more than `threshold` signals before the
/// statuses are taken, the further ones are lost, and progress() throws std::logic_error. Several
/// threads may signal; one thread at a time may test or wait.
///
/// Options: `runtime`, `name`, `user_context`, `zero_copy_am`, `threshold`.
class [[nodiscard]] alloc_sync_x : public option::runtime_option<alloc_sync_x>,
                                   public option::name_option<alloc_sync_x>,
                                   public option::user_context_option<alloc_sync_x>,
                                   public option::zero_copy_am_override<alloc_sync_x>,
                                   public option::threshold_override<alloc_sync_x> {
 public:
  /// Sets every option to its default.
  [[nodiscard]] alloc_sync_x() = default;
  /// Allocates the synchronizer.
  /// @return the synchronizer. The program frees it by free_comp.
  /// @throws std::invalid_argument if `threshold` is less than 1.
  /// @throws std::logic_error if there is no runtime.
  comp_t operator()() const;
};
/// alloc_sync_x with the default of every option.
/// @relates alloc_sync_x
inline comp_t alloc_sync() { return alloc_sync_x()(); }

/// Tests a synchronizer, and resets it if it is ready. One thread at a time may test or wait. The
/// call does not make progress.
///
/// Required: `comp`, `p_out`. Options: `runtime`.
class [[nodiscard]] sync_test_x : public comp_operation<sync_test_x>,
                                  public argument::p_out_argument<sync_test_x, status_t*> {
 public:
  /// Takes the required arguments.
  /// @param p_out array of `threshold` statuses, or null.
  [[nodiscard]] sync_test_x(comp_t comp, status_t* p_out)
      : comp_operation(comp), p_out_argument(p_out) {}
  /// Tests the synchronizer.
  /// @return whether it was ready. Then `threshold` statuses have been written to `p_out`, in the
  ///   order of the signals.
  /// @throws peer_failure_error or std::runtime_error if it was ready, `p_out` is null and an
  ///   operation has ended with `fatal`. The synchronizer has been reset.
  /// @throws std::invalid_argument if the handle is empty, the object has been freed, or it is of
  ///   another kind.
  bool operator()() const;
};
/// sync_test_x with the default of every option.
/// @relates sync_test_x
inline bool sync_test(comp_t comp, status_t* p_out) { return sync_test_x(comp, p_out)(); }

/// Waits until a synchronizer is ready, and resets it. The call makes progress on `device`
/// meanwhile, unless `do_progress` is false, and yields the processor while nothing moves.
/// Exceptions of progress() leave the call. Not for use inside a handler. One thread at a time may
/// test or wait.
///
/// Required: `comp`, `p_out`. Options: `runtime`, `do_progress`, `device`.
class [[nodiscard]] sync_wait_x : public comp_operation<sync_wait_x>,
                                  public option::do_progress_option<sync_wait_x>,
                                  public option::device_option<sync_wait_x>,
                                  public argument::p_out_argument<sync_wait_x, status_t*> {
 public:
  /// Takes the required arguments.
  /// @param p_out array of `threshold` statuses, or null.
  [[nodiscard]] sync_wait_x(comp_t comp, status_t* p_out)
      : comp_operation(comp), p_out_argument(p_out) {}
  /// Waits. Then `threshold` statuses have been written to `p_out`, in the order of the signals.
  /// @throws peer_failure_error or std::runtime_error if `p_out` is null and an operation has ended
  ///   with `fatal`. The synchronizer has been reset.
  /// @throws std::logic_error if it would have to wait inside a handler.
  /// @throws std::invalid_argument if the handle is empty, the object has been freed, or it is of
  ///   another kind.
  void operator()() const;
};
/// sync_wait_x with the default of every option.
/// @relates sync_wait_x
inline void sync_wait(comp_t comp, status_t* p_out) { sync_wait_x(comp, p_out)(); }

/// @}

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_COMP_HPP_
