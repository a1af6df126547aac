// The named-parameter idiom (SC'25 paper, section 4.1): every operation `f` also exists as a
// function object `f_x` with one setter per option, in any order, and operator() to run it.
//
// Each option is one small class, defined here once, that an operation inherits. An `_x` object can
// be kept, copied and called again.
#ifndef LCI_API_OPTION_HPP_
#define LCI_API_OPTION_HPP_

#include <cstdint>

#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"

// Defines the class `name_option<Op>`: a setter `name(value)` that returns the operation, and a
// getter `get_name()`.
#define LCI_DEFINE_OPTION(type_, name_, default_)        \
  template <class Op>                                    \
  class name_##_option {                                 \
   public:                                               \
    Op& name_(type_ value) {                             \
      name_##_value_ = value;                            \
      return static_cast<Op&>(*this);                    \
    }                                                    \
    type_ get_##name_() const { return name_##_value_; } \
                                                         \
   private:                                              \
    type_ name_##_value_ = default_;                     \
  }

namespace lci {
namespace option {

// Which runtime; empty: the global one.
LCI_DEFINE_OPTION(runtime_t, runtime, runtime_t());
// Through which device; empty: the runtime's default device.
LCI_DEFINE_OPTION(device_t, device, device_t());
// When the operation counts as complete locally.
LCI_DEFINE_OPTION(comp_semantic_t, comp_semantic, comp_semantic_t::memory);
// Travels with the message; at most the runtime's max_tag.
LCI_DEFINE_OPTION(tag_t, tag, 0);
// Comes back in the status of this side.
LCI_DEFINE_OPTION(void*, user_context, nullptr);
// false: never answer `done`; an operation that completes at once signals its completion object and
// answers `posted`.
LCI_DEFINE_OPTION(bool, allow_done, true);
// false: never answer `posted`; the call makes progress until the operation is complete.
LCI_DEFINE_OPTION(bool, allow_posted, true);
// false: never answer `retry`; what can't be sent now waits in the device's backlog, and the answer
// is `posted`.
LCI_DEFINE_OPTION(bool, allow_retry, true);
// The name of a resource, for diagnostics. The string must outlive the resource.
LCI_DEFINE_OPTION(const char*, name, DEFAULT_NAME);
// Whether a waiting call also makes progress.
LCI_DEFINE_OPTION(bool, do_progress, true);
// The number a completion object is to be registered under; 0: the next free one.
LCI_DEFINE_OPTION(rcomp_t, rcomp, 0);

}  // namespace option
}  // namespace lci

#endif  // LCI_API_OPTION_HPP_
