#include "lci/runtime/collective/neighbor_check.h"

#include <dlfcn.h>

#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>

#include "lci/api/comp.hpp"
#include "lci/base/strings.h"
#include "lci/runtime/check/checker.h"
#include "lci/runtime/collective/call.h"
#include "lci/runtime/collective/schedule.h"
#include "lci/runtime/post/send.h"

namespace lci::rt {
namespace {

// The message of a rank to the next one.
struct message {
  coll::signature called;
  uint64_t program = 0;  // a hash of the name of the file that has the operator; 0: unknown
  uint64_t place = 0;    // of the operator in that file
};
static_assert(std::is_trivially_copyable_v<message>);

message make_message(const coll::signature& called, reduce_op_t op) {
  message made;
  made.called = called;
  Dl_info found = {};
  if (op == nullptr || dladdr(reinterpret_cast<void*>(op), &found) == 0) return made;
  std::string_view name = found.dli_fname;
  name.remove_prefix(name.rfind('/') + 1);
  made.program = 1;
  for (const char each : name) {
    made.program = coll::mix_hash(made.program + static_cast<unsigned char>(each));
  }
  made.place = reinterpret_cast<uintptr_t>(op) - reinterpret_cast<uintptr_t>(found.dli_fbase);
  return made;
}

// One exchange. Deletes itself when both of its messages are over.
class exchange final : public comp_impl_t {
 public:
  exchange(const collective_call& call, const message& own)
      : checks_(*call.runtime().checks()),
        number_(call.number()),
        in_group_(call.reported_number() == 0),
        rank_(call.global_rank(call.rank())),
        previous_(call.global_rank((call.rank() + call.size() - 1) % call.size())),
        own_(own) {
    const std::lock_guard<std::mutex> guard(all().mutex);
    all().open.insert(this);
  }

  void receive(const collective_call& call) {
    operation made = make(call, previous_, &theirs_);
    made.tag += call.engine().id;
    status_t status;
    try {
      if (made.engine->post_recv(made, &status).is_posted()) return;
    } catch (const peer_failure_error&) {
      status.error = errorcode_t::fatal;
    }
    signal(status);
  }

  void send(const collective_call& call) {
    const int next = (call.rank() + 1) % call.size();
    operation made = make(call, call.global_rank(next), &own_);
    made.tag += call.engine_of(next);
    made.user_context = this;
    try {
      if (rt::send(call.device(), made, /*may_wait=*/true).is_posted()) return;
    } catch (const peer_failure_error&) {
      // The operation itself reports it.
    }
    leave();
  }

  void signal(status_t status) override {
    if (status.user_context != this && status.error.errorcode != errorcode_t::fatal) compare();
    leave();
  }

 private:
  // Messages of runtimes that ended with a message missing. They are not freed, since no thread
  // waits for them.
  struct registry {
    std::mutex mutex;
    std::set<exchange*> open;
  };
  static registry& all() {
    static registry* const of_process = new registry;
    return *of_process;
  }

  // Through the engine of the runtime, also for a group, which may be freed before the message has
  // arrived. The tag has the number of the receiver's engine for the operation added to it.
  operation make(const collective_call& call, int rank, message* bytes) {
    matching_engine& engine = *call.runtime().collective_engine();
    operation made;
    made.rank = rank;
    made.buffer = bytes;
    made.size = sizeof(message);
    made.tag = collective_schedule::tag_of(call.number(), coll::operation_kind::none);
    made.comp = this;
    made.engine = &engine;
    made.remote_engine = static_cast<uint16_t>(engine.id);
    made.collective = true;
    return made;
  }

  void compare() const {
    const bool other_operator =
        own_.program != 0 && own_.program == theirs_.program && own_.place != theirs_.place;
    if (own_.called == theirs_.called && !other_operator) return;
    std::string text = base::StrCat("the ranks call different collective operations: as number ",
                                    number_, in_group_ ? " of a group" : "", ", rank ", previous_,
                                    " calls ", to_text(theirs_.called), ", and rank ", rank_,
                                    " calls ", to_text(own_.called));
    if (own_.called == theirs_.called) base::StrAppend(&text, " with another operator");
    checks_.report_disagreement(text);
  }

  void leave() {
    if (messages_.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    {
      const std::lock_guard<std::mutex> guard(all().mutex);
      all().open.erase(this);
    }
    delete this;
  }

  checker& checks_;
  const uint64_t number_;
  const bool in_group_;
  const int rank_;
  const int previous_;
  message own_;
  message theirs_;
  std::atomic<int> messages_{2};
};

// The rest belong to the library: a rank may have ended before the messages of its neighbor arrive.
bool is_compared(coll::operation_kind kind) {
  return kind != coll::operation_kind::finalization && kind != coll::operation_kind::alloc_group &&
         kind != coll::operation_kind::free_group;
}

}  // namespace

void check_neighbor(const collective_call& call, const coll::signature& called, reduce_op_t op) {
  if (call.size() == 1 || call.runtime().checks() == nullptr || !is_compared(called.kind)) return;
  auto* const made = new exchange(call, make_message(called, op));
  made->receive(call);
  made->send(call);
}

}  // namespace lci::rt
