// Signals: completion objects that count events, many messages each, in one 64-bit number.
// ("UNR: Unified Notifiable RMA Library for HPC", SC'24, sections IV-B and IV-D.)
//
//   lci::comp_t arrived = lci::alloc_signal(2);       // of two events
//   ... two puts to a block of this signal (block.hpp), two sends with it as completion object, ...
//   lci::signal_wait(arrived);                        // both are complete
//   ... use what has arrived; when the memory may be written again:
//   lci::signal_reset(arrived);                       // for the next two
//
// An event is whatever signals a completion object: the end of an operation of this rank, a message
// for its remote_comp; besides, a put or get of a block with this signal. It costs one atomic
// addition, and a test costs one load.
//
// What goes wrong is found where the counter shows it, and is an exception that names the signal,
// the rank and the counts:
//   more events than promised          std::logic_error from signal_test, signal_wait, signal_reset
//   a reset before all have come       std::logic_error from signal_reset: the signal is as before
//   an operation that ended `fatal`    peer_failure_error or std::runtime_error, from all three
// A signal that has had too many events or a failure stays so: free it.
//
// How a put of another rank gets to a signal depends on the network (section IV-C, Table I); the
// attribute signal_level of a device says which way it is, or forces one of less:
//   0   the network tells nobody of a put: a message follows it
//   1   it tells 8 or 16 bits: the number of a signal; no rails
//   2   32 bits: the number, and which part of a message over several rails it is, as the runtime's
//       imm_nbits_signal_part divides them (mode 1: 0; mode 2: more)
//   3   64 bits: half of them each
//   4   the sender adds to the counter itself (shared memory): the target need not make progress
// What the bits do not hold (max_signals, max_signal_parts) takes a message; so does what a level
// that is forced has beyond the network's own. All works at all levels.
//
// Thread safety: any thread may signal, test and wait, at any time. One resets, when no other is in
// a wait for the round that is over.
#ifndef LCI_API_SIGNAL_HPP_
#define LCI_API_SIGNAL_HPP_

#include <cstdint>

#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"

#pragma GCC visibility push(default)

namespace lci {

// A signal of `num_event` events, at least 1 and below 2 to the attribute signal_nbits_event; ready
// to be counted down. Local. Freed with free_comp.
class [[nodiscard]] alloc_signal_x : public option::runtime_option<alloc_signal_x>,
                                     public option::name_option<alloc_signal_x>,
                                     public option::user_context_option<alloc_signal_x>,
                                     public argument::num_event_argument<alloc_signal_x, int64_t>,
                                     public option::signal_nbits_event_override<alloc_signal_x> {
 public:
  [[nodiscard]] explicit alloc_signal_x(int64_t num_event) : num_event_argument(num_event) {}
  comp_t operator()() const;
};
inline comp_t alloc_signal(int64_t num_event) { return alloc_signal_x(num_event)(); }

// True if all events have come. The caller makes progress.
class [[nodiscard]] signal_test_x : public option::runtime_option<signal_test_x>,
                                    public argument::comp_argument<signal_test_x, comp_t> {
 public:
  [[nodiscard]] explicit signal_test_x(comp_t comp) : comp_argument(comp) {}
  bool operator()() const;
};
inline bool signal_test(comp_t comp) { return signal_test_x(comp)(); }

// Waits until all events have come, making progress on `device` meanwhile unless do_progress is
// false. Yields the processor when nothing moves. Not from inside a handler. Having waited for the
// runtime's signal_patience it writes a line to the log that says what is missing, and another one
// after twice the time, and so on.
class [[nodiscard]] signal_wait_x : public option::runtime_option<signal_wait_x>,
                                    public option::do_progress_option<signal_wait_x>,
                                    public option::device_option<signal_wait_x>,
                                    public argument::comp_argument<signal_wait_x, comp_t> {
 public:
  [[nodiscard]] explicit signal_wait_x(comp_t comp) : comp_argument(comp) {}
  void operator()() const;
};
inline void signal_wait(comp_t comp) { signal_wait_x{comp}(); }

// Makes a signal whose events have all come ready for as many again. A put that a peer may begin as
// soon as the memory can be written is safe if this comes before the peer is told.
class [[nodiscard]] signal_reset_x : public option::runtime_option<signal_reset_x>,
                                     public argument::comp_argument<signal_reset_x, comp_t> {
 public:
  [[nodiscard]] explicit signal_reset_x(comp_t comp) : comp_argument(comp) {}
  void operator()() const;
};
inline void signal_reset(comp_t comp) { signal_reset_x{comp}(); }

// Events that are missing; below 0: that were too many. For diagnostics.
class [[nodiscard]] signal_missing_x : public option::runtime_option<signal_missing_x>,
                                       public argument::comp_argument<signal_missing_x, comp_t> {
 public:
  [[nodiscard]] explicit signal_missing_x(comp_t comp) : comp_argument(comp) {}
  int64_t operator()() const;
};
inline int64_t signal_missing(comp_t comp) { return signal_missing_x(comp)(); }

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_SIGNAL_HPP_
