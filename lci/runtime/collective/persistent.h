// The object behind a persistent_coll_t (api/persistent_coll.hpp).
#ifndef LCI_RUNTIME_COLLECTIVE_PERSISTENT_H_
#define LCI_RUNTIME_COLLECTIVE_PERSISTENT_H_

#include <atomic>
#include <memory>
#include <optional>

#include "lci/api/attr.hpp"
#include "lci/api/persistent_coll.hpp"
#include "lci/coll/operation.h"
#include "lci/coll/signature.h"
#include "lci/runtime/collective/call.h"
#include "lci/runtime/collective/recorder.h"
#include "lci/runtime/collective/schedule.h"
#include "lci/runtime/core/live.h"
#include "lci/runtime/instance/shared_memory.h"

namespace lci {

// Keeps the call, and either the operation in shared memory or the schedule of messages that it was
// made into. A start is a copy of the call that takes the next number of its engine.
//
// Thread safety: as api/persistent_coll.hpp says.
class persistent_coll_impl_t : public rt::live_object {
 public:
  // Records. Throws what the call of `collective` throws for wrong arguments.
  persistent_coll_impl_t(const persistent_coll_attr_t& attributes, collective_t collective);

  void start();
  // Throws std::logic_error if a start is in progress. Otherwise the program does not use the
  // object any more: it is deleted as soon as nothing else does.
  void free();

  persistent_coll_attr_t attr;

 private:
  // The states of a start that blocks and goes by messages, seen from two sides: the thread that
  // waits, and the messages, which report their end to ends_.
  //   started -> ended -> idle       the messages end, the thread returns
  //   started -> broken -> idle      the thread throws, as other ranks call another operation; the
  //                                  messages end later
  //              broken -> abandoned the program frees the object before that; their end deletes it
  // Other starts are `started` until their end.
  enum class state { idle, started, ended, broken, abandoned };

  class recorder final : public rt::call_recorder {
   public:
    explicit recorder(persistent_coll_impl_t* owner) : owner_(*owner) {}
    void begin(const rt::collective_call& call, const coll::signature& called,
               reduce_op_t op) override;
    void keep(std::unique_ptr<coll::operation> operation) override;
    void keep(std::unique_ptr<rt::collective_schedule::recorded> steps) override;
    void signal(status_t status) override { owner_.end(status); }

   private:
    persistent_coll_impl_t& owner_;
  };

  void check_usable() const;
  void start_in_shared_memory(const rt::collective_call& call);
  void start_messages(rt::collective_call* call);
  void wait_for_messages(const rt::collective_call& call);
  void end(status_t status);
  void count(int more) const;

  recorder recorder_{this};
  comp_impl_t* comp_ = nullptr;  // the program's; null: starts block
  // Set when it has been recorded.
  std::optional<rt::collective_call> call_;
  coll::signature called_;
  reduce_op_t op_ = nullptr;
  std::unique_ptr<coll::operation> operation_;                // null: by messages
  std::unique_ptr<rt::collective_schedule::recorded> steps_;  // null: in shared memory

  std::atomic<state> state_{state::idle};
  // Of the start in progress.
  comp_impl_t* announced_ = nullptr;  // null: it blocks
  errorcode_t code_ = errorcode_t::done;
  rt::shared_memory::pending pending_;
};

}  // namespace lci

#endif  // LCI_RUNTIME_COLLECTIVE_PERSISTENT_H_
