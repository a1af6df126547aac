// The life of a runtime and of its devices, progress, and who we are.
#ifndef LCI_API_RUNTIME_HPP_
#define LCI_API_RUNTIME_HPP_

#include <cstdlib>
#include <optional>

#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"

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

// The defaults of all attributes: built in, then overridden by the variables LCI_ATTR_<NAME>, then
// by set_g_default_attr. They apply to resources allocated afterwards.
global_attr_t get_g_default_attr();
void set_g_default_attr(global_attr_t attr);

// Where the bytes of incoming active messages are put. Both members may be called by any thread
// at any time.
struct allocator_base_t {
  virtual ~allocator_base_t() = default;
  virtual void* allocate(size_t size) = 0;  // null or an exception: there is no memory
  virtual void deallocate(void* ptr) = 0;
};
struct allocator_default_t : allocator_base_t {  // malloc and free
  void* allocate(size_t size) override { return std::malloc(size); }
  void deallocate(void* ptr) override { std::free(ptr); }
};
extern allocator_default_t g_allocator_default;

// ---- runtimes ----------------------------------------------------------------------------------

// Sets attributes of a runtime; shared by the two operations that make one.
template <class Op>
class runtime_options : public option::name_option<Op>, public option::user_context_option<Op> {
 public:
#define LCI_ATTR_OPTION(type_, name_, default_, doc_) \
  Op& name_(type_ value) {                            \
    attr_##name_##_ = value;                          \
    return static_cast<Op&>(*this);                   \
  }
  LCI_RUNTIME_ATTRS(LCI_ATTR_OPTION)

 protected:
  // The global defaults with what was set here.
  runtime_attr_t resolve(const global_attr_t& defaults) const {
    runtime_attr_t attr;
#define LCI_ATTR_RESOLVE(type_, name_, default_, doc_) \
  attr.name_ = attr_##name_##_.value_or(defaults.name_);
    LCI_RUNTIME_ATTRS(LCI_ATTR_RESOLVE)
    attr.name = this->get_name();
    attr.user_context = this->get_user_context();
    return attr;
  }

 private:
#define LCI_ATTR_OPTIONAL(type_, name_, default_, doc_) std::optional<type_> attr_##name_##_;
  LCI_RUNTIME_ATTRS(LCI_ATTR_OPTIONAL)
};

// Makes a runtime. Collective over the ranks of the job; ranks allocate their runtimes in the same
// order.
class alloc_runtime_x : public runtime_options<alloc_runtime_x> {
 public:
  runtime_t operator()() const;
};
inline runtime_t alloc_runtime() { return alloc_runtime_x()(); }

// Ends a runtime: waits until all ranks have come here and nothing of ours is under way, then frees
// it with its default device. Collective. Devices that the program allocated from it must have been
// freed.
void free_runtime(runtime_t* runtime);

// The global runtime, used wherever the option `runtime` is not given. Counted: only the first init
// makes it and only the last fina ends it (the options of later calls have no effect). Not
// thread-safe against each other.
class g_runtime_init_x : public runtime_options<g_runtime_init_x> {
 public:
  runtime_t operator()() const;
};
inline runtime_t g_runtime_init() { return g_runtime_init_x()(); }
void g_runtime_fina();
// Empty if there is none.
runtime_t get_g_runtime();

// ---- devices -----------------------------------------------------------------------------------

// Makes a device. Collective over the ranks of the job: each allocates the same number of devices.
// Several threads may allocate at the same time.
class alloc_device_x : public option::runtime_option<alloc_device_x>,
                       public option::name_option<alloc_device_x>,
                       public option::user_context_option<alloc_device_x> {
 public:
#undef LCI_ATTR_OPTION
#define LCI_ATTR_OPTION(type_, name_, default_, doc_) \
  alloc_device_x& name_(type_ value) {                \
    attr_##name_##_ = value;                          \
    return *this;                                     \
  }
  LCI_DEVICE_ATTRS(LCI_ATTR_OPTION)
  device_t operator()() const;

 private:
  LCI_DEVICE_ATTRS(LCI_ATTR_OPTIONAL)
};
inline device_t alloc_device() { return alloc_device_x()(); }
#undef LCI_ATTR_OPTION
#undef LCI_ATTR_OPTIONAL
#undef LCI_ATTR_RESOLVE

// Frees a device with nothing under way on it (see wait_drained); otherwise throws and changes
// nothing. Local: peers may free theirs earlier or later.
class free_device_x : public option::runtime_option<free_device_x> {
 public:
  explicit free_device_x(device_t* device) : device_(device) {}
  void operator()() const;

 private:
  device_t* device_;
};
inline void free_device(device_t* device) { free_device_x{device}(); }

class get_default_device_x : public option::runtime_option<get_default_device_x> {
 public:
  device_t operator()() const;  // throws if the runtime has none
};
inline device_t get_default_device() { return get_default_device_x()(); }

class set_allocator_x : public option::runtime_option<set_allocator_x> {
 public:
  explicit set_allocator_x(allocator_base_t* allocator) : allocator_(allocator) {}
  void operator()() const;

 private:
  allocator_base_t* allocator_;
};
// Before the first message; the allocator must outlive the runtime.
inline void set_allocator(allocator_base_t* allocator) { set_allocator_x{allocator}(); }

class get_allocator_x : public option::runtime_option<get_allocator_x> {
 public:
  allocator_base_t* operator()() const;
};
inline allocator_base_t* get_allocator() { return get_allocator_x()(); }

// ---- progress
// ------------------------------------------------------------------------------------

// Moves communication forward on one device: sends what waits in the backlog, takes what arrived,
// signals completion objects. Returns done if anything moved, retry if not (retry_lock: another
// thread is at it). Never blocks. Throws peer_failure_error once for each rank that is found dead.
class progress_x : public option::runtime_option<progress_x>,
                   public option::device_option<progress_x> {
 public:
  error_t operator()() const;
};
inline error_t progress() { return progress_x()(); }

// done: no operation posted through the device by this rank is under way. Else retry.
class test_drained_x : public option::runtime_option<test_drained_x>,
                       public option::device_option<test_drained_x> {
 public:
  error_t operator()() const;
};
inline error_t test_drained() { return test_drained_x()(); }

// Makes progress until test_drained says done.
class wait_drained_x : public option::runtime_option<wait_drained_x>,
                       public option::device_option<wait_drained_x> {
 public:
  void operator()() const;
};
inline void wait_drained() { wait_drained_x()(); }

}  // namespace lci

#endif  // LCI_API_RUNTIME_HPP_
