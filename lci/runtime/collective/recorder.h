// Records collective operations.
#ifndef LCI_RUNTIME_COLLECTIVE_RECORDER_H_
#define LCI_RUNTIME_COLLECTIVE_RECORDER_H_

#include <memory>

#include "lci/api/comp.hpp"
#include "lci/coll/operation.h"
#include "lci/coll/signature.h"
#include "lci/runtime/collective/schedule.h"

namespace lci::rt {

// Given to a call as its comp, takes what the call would carry out. So the code of each operation
// serves calls and recordings, and a call that blocks does not ask which of them it is. At the end
// of each start of what was recorded, a recorder is signaled.
class call_recorder : public comp_impl_t {
 public:
  call_recorder();

  // Null if `comp` is another object.
  [[gnu::no_sanitize("vptr")]] static call_recorder* of(comp_impl_t& comp) {
    return __builtin_expect(comp.attr.name == mark, 0) ? static_cast<call_recorder*>(&comp)
                                                       : nullptr;
  }

  // The arguments have been checked; begin() of each start gets `called` and `op`.
  virtual void begin(const collective_call& call, const coll::signature& called,
                     reduce_op_t op) = 0;
  // After begin(), one of these.
  virtual void keep(std::unique_ptr<coll::operation> operation) = 0;
  virtual void keep(std::unique_ptr<collective_schedule::recorded> steps) = 0;

 private:
  // No name of a program's object has this address.
  static const char mark[];
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_COLLECTIVE_RECORDER_H_
