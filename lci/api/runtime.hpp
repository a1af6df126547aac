// The life of a runtime, progress, and who we are.
#ifndef LCI_API_RUNTIME_HPP_
#define LCI_API_RUNTIME_HPP_

#include <string>

#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"

#pragma GCC visibility push(default)

namespace lci {

// ---- the process ------------------------------------------------------------------------------

// Connects this process to its job and reads the environment. Counted: the first call does it, the
// last global_finalize undoes it. alloc_runtime and g_runtime_init call it themselves; call it
// earlier to know the rank or to change default attributes before there is a runtime. Throws with
// the reason and what to set when the job can't be reached.
void global_initialize();
void global_finalize();

// 0 .. get_rank_n()-1, and the number of ranks of the job. Throw before global_initialize.
int get_rank_me();
int get_rank_n();

/// The interface level that the library was built for, as `LCI_VERSION_STRING` is that of the
/// header.
const char* get_version();

/// The defaults of all attributes: built in, then overridden by the variables LCI_ATTR_<NAME>, then
/// by set_g_default_attr. They apply to resources allocated afterwards.
global_attr_t get_g_default_attr();
void set_g_default_attr(const global_attr_t& attr);
/// The same defaults, for programs that read or set them in place, while no other thread uses them.
extern global_attr_t g_default_attr;

// ---- runtimes ----------------------------------------------------------------------------------

// Makes a runtime with its default resources. Collective over the ranks of the job; ranks allocate
// their runtimes in the same order. Option device_name: the network interface of the default net
// context.
template <class Op>
class runtime_options : public operation<Op>,
                        public option::runtime_attr_options<Op>,
                        public option::device_name_override<Op> {};

class [[nodiscard]] alloc_runtime_x : public runtime_options<alloc_runtime_x> {
 public:
  [[nodiscard]] alloc_runtime_x() = default;
  runtime_t operator()() const;
};
inline runtime_t alloc_runtime() { return alloc_runtime_x()(); }

// Ends a runtime: waits until all ranks have come here and nothing of ours is under way, then frees
// it with its default resources. Collective. Throws std::logic_error, and changes nothing, if
// resources that the program allocated from it have not been freed.
class [[nodiscard]] free_runtime_x : public operation<free_runtime_x>,
                                     public argument::runtime_argument<free_runtime_x, runtime_t*> {
 public:
  [[nodiscard]] explicit free_runtime_x(runtime_t* runtime) : runtime_argument(runtime) {}
  void operator()() const;
};
inline void free_runtime(runtime_t* runtime) { free_runtime_x{runtime}(); }

// The global runtime, used wherever the option `runtime` is not given. Counted: only the first init
// makes it and only the last fina ends it (the options of later calls have no effect). Not
// thread-safe against each other.
class [[nodiscard]] g_runtime_init_x : public runtime_options<g_runtime_init_x> {
 public:
  [[nodiscard]] g_runtime_init_x() = default;
  runtime_t operator()() const;
};
inline runtime_t g_runtime_init() { return g_runtime_init_x()(); }
class [[nodiscard]] g_runtime_fina_x : public operation<g_runtime_fina_x> {
 public:
  [[nodiscard]] g_runtime_fina_x() = default;
  void operator()() const;
};
inline void g_runtime_fina() { g_runtime_fina_x()(); }
// Empty if there is none.
class [[nodiscard]] get_g_runtime_x : public operation<get_g_runtime_x> {
 public:
  [[nodiscard]] get_g_runtime_x() = default;
  runtime_t operator()() const;
};
inline runtime_t get_g_runtime() { return get_g_runtime_x()(); }

class [[nodiscard]] set_allocator_x
    : public option::runtime_option<set_allocator_x>,
      public argument::allocator_argument<set_allocator_x, allocator_base_t*> {
 public:
  [[nodiscard]] explicit set_allocator_x(allocator_base_t* allocator)
      : allocator_argument(allocator) {}
  void operator()() const;
};
// Before the first message; the allocator must outlive the runtime.
inline void set_allocator(allocator_base_t* allocator) { set_allocator_x{allocator}(); }

class [[nodiscard]] get_allocator_x : public option::runtime_option<get_allocator_x> {
 public:
  [[nodiscard]] get_allocator_x() = default;
  allocator_base_t* operator()() const;
};
inline allocator_base_t* get_allocator() { return get_allocator_x()(); }

// ---- progress
// ------------------------------------------------------------------------------------

/// Moves communication forward on one device: sends what waits in the backlog, takes what arrived,
/// signals completion objects. Returns done if anything moved, retry if not (retry_lock: another
/// thread is at it). Never blocks, but a thread whose calls have found nothing a hundred times in a
/// row, on all devices that it polls, yields its processor to other threads, unless it works for
/// more than a microsecond between its calls: loops that wait need no yield of their own. The
/// device attribute progress_yield turns that off. Throws peer_failure_error once for each rank
/// that is found dead. Thread-safe.
class [[nodiscard]] progress_x : public option::runtime_option<progress_x>,
                                 public option::device_option<progress_x>,
                                 public option::endpoint_option<progress_x> {
 public:
  [[nodiscard]] progress_x() = default;
  progress_result_t operator()() const;
};
inline progress_result_t progress() { return progress_x()(); }

// done: no operation posted through the device by this rank is under way. Else retry.
class [[nodiscard]] test_drained_x : public option::runtime_option<test_drained_x>,
                                     public option::device_option<test_drained_x> {
 public:
  [[nodiscard]] test_drained_x() = default;
  error_t operator()() const;
};
inline error_t test_drained() { return test_drained_x()(); }

// Makes progress until test_drained says done.
class [[nodiscard]] wait_drained_x : public option::runtime_option<wait_drained_x>,
                                     public option::device_option<wait_drained_x> {
 public:
  [[nodiscard]] wait_drained_x() = default;
  void operator()() const;
};
inline void wait_drained() { wait_drained_x()(); }

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_RUNTIME_HPP_
