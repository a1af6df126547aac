#include "lci/runtime/collective/schedule.h"

#include <atomic>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <utility>

#include "lci/base/copy.h"
#include "lci/base/strings.h"
#include "lci/runtime/collective/recorder.h"
#include "lci/runtime/instance/runtime.h"
#include "lci/runtime/post/send.h"

namespace lci::rt {

struct collective_schedule::action {
  enum class kind { send, receive, copy, reduce, meet, pack, unpack } what;
  state* of = nullptr;
  step node = nullptr;
  int rank = -1;               // send and receive: the other side, as the runtime counts it
  uint16_t engine = 0;         // send: how that side names its engine
  uint32_t round = 0;          // send and receive
  const void* left = nullptr;  // reduce
  const void* from = nullptr;  // send, copy; reduce: right
  void* to = nullptr;          // receive, copy, reduce
  size_t size = 0;             // bytes; reduce: items
  reduce_op_t op = nullptr;
  uint64_t phase = 0;                             // meet
  shared_memory::operation_maker make = nullptr;  // meet
  shared_step* end = nullptr;                     // meet: the end of the step
  bool is_due = false;                            // meet: it has not begun
};

// Where messages of the schedule arrive. A message of another size than expected fails its step,
// also if it is shorter: the ranks have called the operation with different sizes.
struct collective_schedule::arrivals final : comp_impl_t {
  explicit arrivals(graph* steps) : steps_(steps) {}
  void signal(status_t status) override {
    const action& received = *static_cast<action*>(status.user_context);
    status.user_context = received.node;
    if (status.is_done() && status.size != received.size) status.error = errorcode_t::fatal;
    steps_->signal(status);
  }
  graph* const steps_;
};

// The end of a step in the memory of the host.
struct collective_schedule::shared_step final : comp_impl_t {
  shared_step(graph* owner, step begun) : steps(owner), node(begun) {}
  void signal(status_t status) override {
    status.user_context = node;
    steps->signal(status);
  }
  graph* const steps;
  const step node;
};

// Tags: the number of the operation, its kind, and the round. Messages of different kinds never
// meet: ranks that call different operations wait, and are named by the hang report, rather than
// take each other's bytes.
constexpr int kind_shift = 26;
static_assert(collective_schedule::most_rounds == uint32_t{1} << kind_shift);

tag_t collective_schedule::tag_of(uint64_t number, coll::operation_kind kind) {
  return (number - 1) << 32 | static_cast<tag_t>(kind) << kind_shift;
}

// The data that the steps need while they run; freed with the graph.
struct collective_schedule::state {
  state(const collective_call& call, graph* owner)
      : device(&call.device()),
        engine(&call.engine()),
        steps(owner),
        arrivals_of(owner),
        staging(call.staging()),
        name(call.name()) {
    set_call(call);
    if (const hierarchy* const hosts = call.hosts_in_use(); hosts != nullptr) {
      host = hosts->weak_memory();
    }
  }
  ~state() { break_off(); }

  // The ranks of this host wait for steps in its memory that will not come.
  void break_off() {
    for (action& each : actions) {
      if (!std::exchange(each.is_due, false)) continue;
      const std::shared_ptr<shared_memory> alive = host.lock();
      if (alive == nullptr) return;
      shared_memory::room where;
      coll::operation* const broken_off = each.make(&where, tickets[each.phase]);
      if (const int failed = alive->first_failed(); failed >= 0) broken_off->give_up(failed);
      broken_off->~operation();
    }
  }

  // A call that is to be recorded has no number yet.
  void set_call(const collective_call& call) {
    if (call.number() == 0) return;
    first_tag = tag_of(call.number(), call.kind());
    if (call.hosts_in_use() == nullptr) return;
    for (uint64_t phase = 0; phase < hierarchy::phases; ++phase) {
      tickets[phase] = call.host_ticket(phase);
    }
    for (action& each : actions) each.is_due = each.what == action::kind::meet;
  }

  device_impl_t* const device;
  matching_engine* const engine;
  graph* const steps;
  arrivals arrivals_of;
  tag_t first_tag = 0;
  coll::ticket tickets[hierarchy::phases] = {};
  const std::shared_ptr<coll::staging> staging;
  const char* const name;
  std::weak_ptr<shared_memory> host;
  std::deque<shared_step> shared_steps;
  std::exception_ptr* failure = nullptr;  // where a step of the host leaves an exception
  std::unique_ptr<char[]> room;
  std::deque<action> actions;

  int first_failed() const {
    return engine->group == nullptr ? device->runtime.first_failed()
                                    : engine->group->first_failed();
  }

  operation make(action& a, void* bytes) {
    operation made;
    made.rank = a.rank;
    made.buffer = bytes;
    made.size = a.size;
    made.tag = first_tag + a.round;
    if (a.what == action::kind::receive) {
      made.comp = &arrivals_of;
      made.user_context = &a;
    } else {
      made.comp = steps;
      made.user_context = a.node;
    }
    made.engine = engine;
    made.remote_engine = a.engine;
    made.collective = true;
    return made;
  }
};

// Signals the end of a blocking collective to the thread that waits. That thread may leave earlier,
// by an exception: the last of both frees the object.
struct end_flag final : comp_impl_t {
  void signal(status_t status) override {
    code = status.error.errorcode;
    set.store(true, std::memory_order_release);
    leave();
  }
  void leave() {
    if (owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  std::atomic<int> owners{2};
  std::atomic<bool> set{false};
  errorcode_t code = errorcode_t::retry_init;
  std::exception_ptr failure;  // of a step in the memory of the host
};

namespace {

comp_attr_t graph_attributes(const char* what) {
  comp_attr_t attr;
  attr.comp_type = attr_comp_type_t::graph;
  attr.name = what;
  return attr;
}

}  // namespace

collective_schedule::collective_schedule(const collective_call& call, size_t room) : call_(call) {
  if (call.comp() == nullptr) end_ = new end_flag;
  graph_ = std::make_unique<graph>(graph_attributes(call.name()),
                                   call.comp() == nullptr ? end_ : call.comp());
  state_ = new state(call, graph_.get());
  // Freed with the graph, by this node.
  phase_begin_ = graph_->add_node(nullptr, state_, [](void* s) { delete static_cast<state*>(s); });
  graph_->add_edge(GRAPH_START, phase_begin_, nullptr);
  if (end_ != nullptr) state_->failure = &end_->failure;
  if (room > 0) state_->room.reset(new char[room]);
  if (call.recorder() == nullptr) call.use_messages();
  if (state_->staging != nullptr) {
    add(action{action::kind::pack});
    then();
  }
}

collective_schedule::~collective_schedule() {
  // The schedule has not run: no step will signal it.
  if (graph_ != nullptr && end_ != nullptr) delete end_;
}

char* collective_schedule::room() const { return state_->room.get(); }

collective_schedule::step collective_schedule::add(action added) {
  state_->actions.push_back(std::move(added));
  action& kept = state_->actions.back();
  kept.of = state_;
  kept.node = graph_->add_node(
      [](void* value) -> status_t {
        action& a = *static_cast<action*>(value);
        switch (a.what) {
          case action::kind::send:
            if (const int failed = a.of->first_failed(); failed >= 0) {
              throw peer_failure_error(failed, base::StrCat("rank ", failed, " is gone"));
            }
            try {
              return rt::send(*a.of->device, a.of->make(a, const_cast<void*>(a.from)),
                              /*may_wait=*/true)
                  .errorcode;
            } catch (const peer_failure_error& failure) {
              // The network knows it before a poll has said so: then the operation is known to have
              // failed because of that rank.
              a.of->device->runtime.note_failure(failure.failed_rank());
              throw;
            }
          case action::kind::receive: {
            status_t status;
            const error_t posted = a.of->engine->post_recv(a.of->make(a, a.to), &status);
            if (posted.is_done() && status.size != a.size) return errorcode_t::fatal;
            return posted.errorcode;
          }
          case action::kind::copy:
            if (a.size > 0) base::copy_data(a.to, a.from, a.size);
            return errorcode_t::done;
          case action::kind::reduce:
            a.op(a.left, a.from, a.to, a.size);
            return errorcode_t::done;
          case action::kind::pack:
            a.of->staging->pack();
            return errorcode_t::done;
          case action::kind::unpack:
            a.of->staging->unpack();
            return errorcode_t::done;
          case action::kind::meet: {
            const std::shared_ptr<shared_memory> host = a.of->host.lock();
            if (host == nullptr) return errorcode_t::fatal;
            a.is_due = false;
            const bool is_over =
                host->start_step(a.make, a.of->tickets[a.phase], a.of->name, a.end, a.of->failure);
            return is_over ? errorcode_t::done : errorcode_t::posted;
          }
        }
        return errorcode_t::fatal;
      },
      &kept, nullptr);
  graph_->add_edge(phase_begin_, kept.node, nullptr);
  phase_.push_back(kept.node);
  return kept.node;
}

collective_schedule::step collective_schedule::send(int to, const void* bytes, size_t size,
                                                    uint32_t round) {
  action a{action::kind::send};
  a.rank = call_.global_rank(place_of(to));
  a.engine = call_.engine_of(place_of(to));
  a.round = round;
  a.from = bytes;
  a.size = size;
  return add(a);
}

collective_schedule::step collective_schedule::receive(int from, void* bytes, size_t size,
                                                       uint32_t round) {
  action a{action::kind::receive};
  a.rank = call_.global_rank(place_of(from));
  a.round = round;
  a.to = bytes;
  a.size = size;
  return add(a);
}

collective_schedule::step collective_schedule::copy(void* to, const void* from, size_t size) {
  action a{action::kind::copy};
  a.to = to;
  a.from = from;
  a.size = size;
  return add(a);
}

collective_schedule::step collective_schedule::reduce(reduce_op_t op, const void* left,
                                                      const void* right, void* dst, size_t count) {
  action a{action::kind::reduce};
  a.op = op;
  a.left = left;
  a.from = right;
  a.to = dst;
  a.size = count;
  return add(a);
}

collective_schedule::step collective_schedule::add_shared_step(
    uint64_t phase, shared_memory::operation_maker make) {
  action a{action::kind::meet};
  a.phase = phase;
  a.make = std::move(make);
  a.is_due = call_.recorder() == nullptr;
  const step added = add(std::move(a));
  state_->actions.back().end = &state_->shared_steps.emplace_back(graph_.get(), added);
  return added;
}

void collective_schedule::then() {
  if (phase_.empty()) return;
  const step join = graph_->add_node(nullptr, nullptr, nullptr);
  for (step each : phase_) graph_->add_edge(each, join, nullptr);
  phase_.clear();
  phase_begin_ = join;
}

void collective_schedule::order(step before, step after) {
  graph_->add_edge(before, after, nullptr);
}

void collective_schedule::run() {
  then();
  if (state_->staging != nullptr) {
    add(action{action::kind::unpack});
    then();
  }
  graph_->add_edge(phase_begin_, GRAPH_END, nullptr);
  if (call_.recorder() != nullptr) {
    call_.recorder()->keep(
        std::make_unique<recorded>(std::move(graph_), state_, call_.phases_in_use()));
    return;
  }
  graph_->own_itself();
  graph* const running = graph_.release();
  running->start();
  if (end_ != nullptr) run_blocking();
}

void collective_schedule::run_blocking() {
  struct guard {
    ~guard() { flag->leave(); }
    end_flag* flag;
  } leave{end_};
  const hierarchy* const hosts = call_.hosts_in_use();
  const bool oversubscribed =
      hosts != nullptr &&
      exceeds_processors(static_cast<size_t>(hosts->ranks_on(hosts->own_host())));
  const auto is_over = [this, hosts] {
    // Not by progress() alone, which does not know of a group that is being freed.
    if (hosts != nullptr && hosts->memory().has_pending()) {
      const progress_scope scope;
      hosts->memory().advance();
    }
    return end_->set.load(std::memory_order_acquire);
  };
  wait_for_messages(call_, is_over, oversubscribed);
  if (end_->failure != nullptr) std::rethrow_exception(end_->failure);
  check_end_of_messages(call_, end_->code);
}

void check_end_of_messages(const collective_call& call, errorcode_t code) {
  if (code != errorcode_t::fatal) return;
  call.check_deaths();
  throw std::runtime_error(base::StrCat("lci: ", call.name(), " failed on rank ",
                                        call.runtime().rank(),
                                        ": do all ranks pass the same sizes?"));
}

collective_schedule::recorded::recorded(std::unique_ptr<graph> steps, state* of_steps,
                                        uint64_t phases)
    : steps_(std::move(steps)), state_(of_steps), phases_(phases) {}

void collective_schedule::recorded::break_off() { state_->break_off(); }

void collective_schedule::recorded::start(collective_call* call) {
  call->use_hosts(phases_);
  state_->set_call(*call);
  call->use_messages();
  steps_->start();
}

}  // namespace lci::rt
