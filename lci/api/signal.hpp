/// @file
/// Signals: completion objects that count events.

/// @defgroup lci_signals Signals
/// A signal is a completion object that counts events in one 64-bit number; an event may consist of
/// many messages. ("UNR: Unified Notifiable RMA Library for HPC", SC'24, sections IV-B and IV-D)
/// @code
/// lci::comp_t arrived = lci::alloc_signal(2);  // two events
/// // Two puts to a block with this signal, or two sends with it as completion object, or both.
/// lci::signal_wait(arrived);   // both events have come
/// // Use the bytes that have arrived. When the memory may be written again:
/// lci::signal_reset(arrived);  // for the next two events
/// @endcode
///
/// An event is the end of an operation of this rank whose completion object is the signal, a
/// message for its `remote_comp`, or a put or get of a block with this signal. An event costs one
/// atomic addition, and a test costs one load.
///
/// **Errors** are found where the counter shows them. The exception names the signal, the rank and
/// the counts:
/// - More events than promised: std::logic_error from signal_test, signal_wait and signal_reset.
/// - A reset before all events have come: std::logic_error from signal_reset; the signal is
///   unchanged.
/// - An operation that ended with `fatal`: peer_failure_error or std::runtime_error from all three.
///
/// A signal that has had too many events or a failure cannot be used again: free it.
///
/// **Support levels.** The path of a put to a signal of another rank depends on the network
/// (section IV-C, Table I). The attribute `signal_level` of a device states the level, or forces a
/// lower one:
///
/// - Level 0: the network does not notify the target of a put; a message follows the put.
/// - Level 1: the notification has 8 or 16 bits: the number of the signal. No rails.
/// - Level 2: 32 bits: the number of the signal, and the part of a message over several rails. The
///   attribute `imm_nbits_signal_part` of the runtime divides the bits (mode 1: 0; mode 2: more).
/// - Level 3: 64 bits: half of them for each.
/// - Level 4: the sender itself adds to the counter (shared memory). The target need not make
///   progress.
///
/// A signal or part beyond these bits (`max_signals`, `max_signal_parts`) costs one more message,
/// and so does everything that a forced level requires beyond the abilities of the network. All
/// operations work at all levels.
///
/// **Thread safety.** Any thread may signal, test and wait at any time. One thread resets, while no
/// other thread waits for the round that is over.
#ifndef LCI_API_SIGNAL_HPP_
#define LCI_API_SIGNAL_HPP_

#include <cstdint>

#include "lci/api/comp.hpp"
#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"

#pragma GCC visibility push(default)

namespace lci {

/// @addtogroup lci_signals
/// @{

/// Allocates a signal of `num_event` events, ready to count them. Local.
///
/// Required: `num_event`. Options: `runtime`, `name`, `user_context`, `signal_nbits_event`.
class [[nodiscard]] alloc_signal_x : public option::runtime_option<alloc_signal_x>,
                                     public option::name_option<alloc_signal_x>,
                                     public option::user_context_option<alloc_signal_x>,
                                     public argument::num_event_argument<alloc_signal_x, int64_t>,
                                     public option::signal_nbits_event_override<alloc_signal_x> {
 public:
  /// Takes the required arguments.
  /// @param num_event 1 to 2 to the power of the attribute `signal_nbits_event`, minus 1.
  [[nodiscard]] explicit alloc_signal_x(int64_t num_event) : num_event_argument(num_event) {}
  /// Allocates the signal.
  /// @return the signal. The program frees it by free_comp.
  /// @throws std::invalid_argument if `num_event` or `signal_nbits_event` is out of its range.
  /// @throws std::logic_error if there is no runtime.
  comp_t operator()() const;
};
/// alloc_signal_x with the default of every option.
/// @relates alloc_signal_x
inline comp_t alloc_signal(int64_t num_event) { return alloc_signal_x(num_event)(); }

/// Tests whether all events of a signal have come. Thread-safe. The call does not make progress.
///
/// Required: `comp` (the signal). Options: `runtime`.
class [[nodiscard]] signal_test_x : public comp_operation<signal_test_x> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] explicit signal_test_x(comp_t comp) : comp_operation(comp) {}
  /// Tests the signal.
  /// @return whether all events have come.
  /// @throws std::logic_error if more events than promised have come.
  /// @throws peer_failure_error if an operation that this signal counts has ended with `fatal`,
  ///   since a peer has failed.
  /// @throws std::runtime_error if an operation that this signal counts has ended with `fatal` for
  ///   another reason.
  /// @throws std::invalid_argument if the handle is empty, the signal has been freed, or the object
  ///   is of another kind.
  bool operator()() const;
};
/// signal_test_x with the default of every option.
/// @relates signal_test_x
inline bool signal_test(comp_t comp) { return signal_test_x(comp)(); }

/// Waits until all events of a signal have come. The call makes progress on `device` meanwhile,
/// unless `do_progress` is false, and yields the processor while nothing moves. Exceptions of
/// progress() leave the call. Not for use inside a handler. Thread-safe.
///
/// A call that has waited for the time `signal_patience` of the runtime writes a line to the log
/// that states what is missing, and another one after twice the time, and so on.
///
/// Required: `comp` (the signal). Options: `runtime`, `do_progress`, `device`.
class [[nodiscard]] signal_wait_x : public comp_operation<signal_wait_x>,
                                    public option::do_progress_option<signal_wait_x>,
                                    public option::device_option<signal_wait_x> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] explicit signal_wait_x(comp_t comp) : comp_operation(comp) {}
  /// Waits for the events.
  /// @throws std::logic_error if more events than promised have come, or it would have to wait
  ///   inside a handler.
  /// @throws peer_failure_error if an operation that this signal counts has ended with `fatal`,
  ///   since a peer has failed.
  /// @throws std::runtime_error if an operation that this signal counts has ended with `fatal` for
  ///   another reason.
  /// @throws std::invalid_argument if the handle is empty, the signal has been freed, or the object
  ///   is of another kind.
  void operator()() const;
};
/// signal_wait_x with the default of every option.
/// @relates signal_wait_x
inline void signal_wait(comp_t comp) { signal_wait_x{comp}(); }

/// Makes a signal whose events have all come ready to count as many again. One thread resets a
/// signal, when no other thread waits for the round that is over. A peer may begin its next put as
/// soon as the memory can be written: the program is safe if it resets the signal before it
/// notifies that peer.
///
/// Required: `comp` (the signal). Options: `runtime`.
class [[nodiscard]] signal_reset_x : public comp_operation<signal_reset_x> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] explicit signal_reset_x(comp_t comp) : comp_operation(comp) {}
  /// Resets the signal.
  /// @throws std::logic_error if not all events have come, and the signal is unchanged; or if more
  ///   events than promised have come.
  /// @throws peer_failure_error if an operation that this signal counts has ended with `fatal`,
  ///   since a peer has failed.
  /// @throws std::runtime_error if an operation that this signal counts has ended with `fatal` for
  ///   another reason.
  /// @throws std::invalid_argument if the handle is empty, the signal has been freed, or the object
  ///   is of another kind.
  void operator()() const;
};
/// signal_reset_x with the default of every option.
/// @relates signal_reset_x
inline void signal_reset(comp_t comp) { signal_reset_x{comp}(); }

/// Returns the number of events that are missing, for diagnostics. Thread-safe.
///
/// Required: `comp` (the signal). Options: `runtime`.
class [[nodiscard]] signal_missing_x : public comp_operation<signal_missing_x> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] explicit signal_missing_x(comp_t comp) : comp_operation(comp) {}
  /// Returns the number. A value below 0 is the number of events that were too many.
  /// @throws std::invalid_argument if the handle is empty, the signal has been freed, or the object
  ///   is of another kind.
  int64_t operator()() const;
};
/// signal_missing_x with the default of every option.
/// @relates signal_missing_x
inline int64_t signal_missing(comp_t comp) { return signal_missing_x(comp)(); }

/// @}

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_SIGNAL_HPP_
