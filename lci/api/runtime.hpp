/// @file
/// The life of a runtime, progress, and the position of this process in its job.

/// @defgroup lci_runtime Runtime and progress
/// The life of a runtime, progress, and the position of this process in its job. (SC'25 paper,
/// sections 4.2.2 and 4.2.7)
#ifndef LCI_API_RUNTIME_HPP_
#define LCI_API_RUNTIME_HPP_

#include <string>

#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"

#pragma GCC visibility push(default)

namespace lci {

/// @addtogroup lci_runtime
/// @{

/// Connects this process to its job and reads the environment. Calls are counted: only the first
/// call has this effect, and the last global_finalize undoes it. alloc_runtime and g_runtime_init
/// call this function; call it earlier to know the rank, or to change default attributes before
/// there is a runtime. Standard streams (descriptors 0 to 2) that are closed become /dev/null, so
/// that what the program prints does not go into a connection of the library. Thread-safe.
/// @throws std::invalid_argument if a variable LCI_ATTR_NAME has a value that is not accepted.
/// @throws std::runtime_error if the job cannot be reached; the text states the reason and the
///   variable to set.
void global_initialize();
/// Undoes one global_initialize. Thread-safe.
/// @throws std::logic_error without global_initialize.
void global_finalize();

/// Returns the rank of this process, 0 to get_rank_n() - 1. Thread-safe.
/// @throws std::logic_error before global_initialize.
int get_rank_me();
/// Returns the number of ranks of the job. Thread-safe.
/// @throws std::logic_error before global_initialize.
int get_rank_n();

/// Returns the version of the interface that the library was built for, as LCI_VERSION_STRING is
/// that of the header. The string is static.
const char* get_version();

/// Returns the default of every attribute: the built-in value, replaced by the environment variable
/// LCI_ATTR_NAME, replaced by set_g_default_attr. Thread-safe.
global_attr_t get_g_default_attr();
/// Sets the default of every attribute, for resources that are allocated afterward. Thread-safe.
/// @throws std::logic_error before global_initialize.
void set_g_default_attr(const global_attr_t& attr);
/// The same defaults, for programs that read or set them in place. No other thread may use them at
/// that time.
extern global_attr_t g_default_attr;

/// The options of operations that make a runtime: `device_name`, the network interface of the
/// default net context, and those of option::runtime_attr_options.
template <class Op>
class runtime_options : public operation<Op>,
                        public option::runtime_attr_options<Op>,
                        public option::device_name_override<Op> {};

/// Allocates a runtime with its default resources. Collective over the ranks of the job: all ranks
/// allocate their runtimes in the same order.
///
/// Options: `device_name` (the network interface of the default net context), and the attributes of
/// a runtime; see option::runtime_attr_options.
class [[nodiscard]] alloc_runtime_x : public runtime_options<alloc_runtime_x> {
 public:
  /// Sets every option to its default.
  [[nodiscard]] alloc_runtime_x() = default;
  /// Allocates the runtime, and calls global_initialize.
  /// @return the runtime. The program frees it by free_runtime.
  /// @throws std::invalid_argument if an attribute is out of its range.
  /// @throws std::runtime_error if the job or the network cannot be reached, or the ranks run
  ///   different versions of the library or have different attributes where these must be equal.
  /// @throws std::logic_error inside a handler, unless the job has one rank.
  runtime_t operator()() const;
};
/// alloc_runtime_x with the default of every option.
/// @relates alloc_runtime_x
inline runtime_t alloc_runtime() { return alloc_runtime_x()(); }

/// Ends a runtime: waits until all ranks have called this function and no operation of this rank is
/// in progress, then frees the runtime with its default resources and empties the handle.
/// Collective. The failure of a peer is logged and does not prevent the end. No other thread of the
/// program may be inside an operation of the runtime, or call one later: a thread that makes
/// progress or waits has to be stopped before. `LCI_CHECK=1` makes that an error.
///
/// Required: `runtime`.
class [[nodiscard]] free_runtime_x : public operation<free_runtime_x>,
                                     public argument::runtime_argument<free_runtime_x, runtime_t*> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] explicit free_runtime_x(runtime_t* runtime) : runtime_argument(runtime) {}
  /// Frees the runtime, and calls global_finalize.
  /// @throws std::logic_error if resources that the program allocated from the runtime have not
  ///   been freed, inside a handler, or, with `LCI_CHECK=1`, while another thread is inside an
  ///   operation of the runtime; nothing has changed then.
  /// @throws std::invalid_argument if the handle is empty or the runtime has been freed.
  /// @throws std::runtime_error if the ranks have not called the same collective operations, or a
  ///   message has come for nothing that is registered. The runtime has been freed, and the handle
  ///   is empty.
  void operator()() const;
};
/// free_runtime_x with the default of every option.
/// @relates free_runtime_x
inline void free_runtime(runtime_t* runtime) { free_runtime_x{runtime}(); }

/// Makes the global runtime, which operations use unless they are given a runtime or a resource of
/// one. Calls are counted: only the first call makes it, and the options of later calls have no
/// effect. Collective, as alloc_runtime_x. Not thread-safe with respect to itself and
/// g_runtime_fina.
///
/// Options: those of alloc_runtime_x.
class [[nodiscard]] g_runtime_init_x : public runtime_options<g_runtime_init_x> {
 public:
  /// Sets every option to its default.
  [[nodiscard]] g_runtime_init_x() = default;
  /// Makes the global runtime.
  /// @return the global runtime.
  /// @throws std::invalid_argument as alloc_runtime_x.
  /// @throws std::runtime_error as alloc_runtime_x.
  /// @throws std::logic_error as alloc_runtime_x.
  runtime_t operator()() const;
};
/// g_runtime_init_x with the default of every option.
/// @relates g_runtime_init_x
inline runtime_t g_runtime_init() { return g_runtime_init_x()(); }

/// Ends one g_runtime_init. Only the last call ends the global runtime, as free_runtime does, and
/// throws as that does; it may be repeated if nothing has changed. Not thread-safe with respect to
/// itself and g_runtime_init. No other thread of the program may be inside an operation of the
/// runtime, or call one later: a thread that makes progress or waits has to be stopped before.
/// `LCI_CHECK=1` makes that an error.
class [[nodiscard]] g_runtime_fina_x : public operation<g_runtime_fina_x> {
 public:
  /// Sets every option to its default.
  [[nodiscard]] g_runtime_fina_x() = default;
  /// Ends the global runtime.
  /// @throws std::logic_error without g_runtime_init, or as free_runtime_x.
  void operator()() const;
};
/// g_runtime_fina_x with the default of every option.
/// @relates g_runtime_fina_x
inline void g_runtime_fina() { g_runtime_fina_x()(); }

/// Returns the global runtime. Thread-safe.
class [[nodiscard]] get_g_runtime_x : public operation<get_g_runtime_x> {
 public:
  /// Sets every option to its default.
  [[nodiscard]] get_g_runtime_x() = default;
  /// Returns the global runtime, or an empty handle if there is none.
  runtime_t operator()() const;
};
/// get_g_runtime_x with the default of every option.
/// @relates get_g_runtime_x
inline runtime_t get_g_runtime() { return get_g_runtime_x()(); }

/// Sets the allocator for the bytes of incoming active messages of a runtime. Call it before the
/// first message. The allocator must outlive the runtime.
///
/// Required: `allocator`. Options: `runtime`.
class [[nodiscard]] set_allocator_x
    : public option::runtime_option<set_allocator_x>,
      public argument::allocator_argument<set_allocator_x, allocator_base_t*> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] explicit set_allocator_x(allocator_base_t* allocator)
      : allocator_argument(allocator) {}
  /// Sets the allocator.
  /// @throws std::invalid_argument if the allocator is null.
  void operator()() const;
};
/// set_allocator_x with the default of every option.
/// @relates set_allocator_x
inline void set_allocator(allocator_base_t* allocator) { set_allocator_x{allocator}(); }

/// Returns the allocator for the bytes of incoming active messages of a runtime.
///
/// Options: `runtime`.
class [[nodiscard]] get_allocator_x : public option::runtime_option<get_allocator_x> {
 public:
  /// Sets every option to its default.
  [[nodiscard]] get_allocator_x() = default;
  /// Returns the allocator. By default it is g_allocator_default.
  allocator_base_t* operator()() const;
};
/// get_allocator_x with the default of every option.
/// @relates get_allocator_x
inline allocator_base_t* get_allocator() { return get_allocator_x()(); }

/// Makes progress on one device: sends the operations that wait in the backlog, processes what has
/// arrived, and signals completion objects.
///
/// The call never blocks. A thread whose calls have found nothing a hundred times in a row, on all
/// devices that it polls, yields its processor to other threads, unless it works for more than a
/// microsecond between its calls; a loop that waits needs no yield of its own. The attribute
/// `progress_yield` of the device turns that off.
///
/// Thread-safe. Options: `runtime`, `device`, `endpoint`.
class [[nodiscard]] progress_x : public option::device_options<progress_x> {
 public:
  /// Sets every option to its default.
  [[nodiscard]] progress_x() = default;
  /// Makes progress.
  /// @return `done` if anything moved, `retry` if not, and `retry_lock` if another thread makes
  ///   progress on the device. The program may drop the result.
  /// @throws peer_failure_error once per device for each rank that is found to have failed.
  /// @throws std::runtime_error if a message is dropped, since this rank has no such completion
  ///   object or matching engine, or no memory for it. An exception that leaves a handler or a
  ///   completion object of the program leaves progress(), too, after all completions of the call
  ///   have been processed. Of several exceptions, one leaves the call: a peer_failure_error or else
  ///   the first one. The others are logged.
  progress_result_t operator()() const;
};
/// progress_x with the default of every option.
/// @relates progress_x
inline progress_result_t progress() { return progress_x()(); }

/// Tests whether the operations that this rank has posted through a device are over.
///
/// Thread-safe. Options: `runtime`, `device`.
class [[nodiscard]] test_drained_x : public option::runtime_option<test_drained_x>,
                                     public option::device_option<test_drained_x> {
 public:
  /// Sets every option to its default.
  [[nodiscard]] test_drained_x() = default;
  /// Tests the device.
  /// @return `done` if no operation that this rank posted through the device is in progress, else
  ///   `retry`.
  error_t operator()() const;
};
/// test_drained_x with the default of every option.
/// @relates test_drained_x
inline error_t test_drained() { return test_drained_x()(); }

/// Makes progress until test_drained returns `done`.
///
/// Thread-safe. Options: `runtime`, `device`.
class [[nodiscard]] wait_drained_x : public option::runtime_option<wait_drained_x>,
                                     public option::device_option<wait_drained_x> {
 public:
  /// Sets every option to its default.
  [[nodiscard]] wait_drained_x() = default;
  /// Waits for the end of the operations.
  /// @throws std::logic_error if it would have to wait inside a handler.
  void operator()() const;
};
/// wait_drained_x with the default of every option.
/// @relates wait_drained_x
inline void wait_drained() { wait_drained_x()(); }

/// @}

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_RUNTIME_HPP_
