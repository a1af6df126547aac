#include "lci/runtime/coll/plan.h"

#include <atomic>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <utility>

#include "lci/base/strings.h"
#include "lci/runtime/post.h"
#include "lci/runtime/runtime.h"
#include "lci/runtime/wait.h"

namespace lci::rt {

struct plan::action {
  enum class kind { send, receive, copy, reduce } what;
  state* of = nullptr;
  step node = nullptr;
  int rank = -1;               // send and receive: the other side
  uint32_t round = 0;          // likewise
  const void* left = nullptr;  // reduce
  const void* from = nullptr;  // send, copy; reduce: right
  void* to = nullptr;          // receive, copy, reduce
  size_t size = 0;             // bytes; reduce: items
  reduce_op_t op = nullptr;
};

// What the steps need while they run; freed with the graph.
struct plan::state {
  device_impl_t* device;
  matching_engine* engine;
  comp_impl_t* comp;  // the graph
  tag_t first_tag;
  std::unique_ptr<char[]> room;
  std::deque<action> actions;

  message make(const action& a, void* bytes) const {
    message made;
    made.rank = a.rank;
    made.buffer = bytes;
    made.size = a.size;
    made.tag = first_tag + a.round;
    made.comp = comp;
    made.user_context = a.node;
    made.engine = engine;
    made.collective = true;
    return made;
  }
};

// How the end of a blocking collective reaches the thread that waits. That thread may leave
// earlier, by an exception: who comes last frees it.
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
};

namespace {

comp_attr_t graph_attributes(const char* what) {
  comp_attr_t attr;
  attr.comp_type = attr_comp_type_t::graph;
  attr.name = what;
  return attr;
}

}  // namespace

plan::plan(const target& where, matching_engine_t engine, comp_t comp, const char* what,
           size_t room)
    : runtime_(*where.runtime),
      device_(*where.device),
      rank_(where.runtime->rank()),
      size_(where.runtime->size()),
      what_(what),
      comp_(comp) {
  if (comp == COMP_NULL_RETRY) {
    throw std::invalid_argument(base::StrCat("lci: ", what, ": comp is COMP_NULL_RETRY"));
  }
  matching_engine* matching =
      engine.is_empty() ? runtime_.collective_engine() : resolve(runtime_, engine);
  if (comp.is_empty()) end_ = new end_flag;
  graph_ = std::make_unique<graph>(graph_attributes(what), comp.is_empty() ? end_ : comp.p_impl);
  state_ = new state{&device_, matching, graph_.get(), 0, nullptr, {}};
  // Freed with the graph, by this node.
  phase_begin_ = graph_->add_node(nullptr, state_, [](void* s) { delete static_cast<state*>(s); });
  graph_->add_edge(GRAPH_START, phase_begin_, nullptr);
  if (room > 0) state_->room.reset(new char[room]);
  const tag_t number = matching->next_collective(what);
  number_ = number + 1;
  state_->first_tag = number << 32;
}

plan::~plan() {
  // Not run: nobody will signal it.
  if (graph_ != nullptr && end_ != nullptr) delete end_;
}

char* plan::room() const { return state_->room.get(); }

// ---- steps
// ------------------------------------------------------------------------------------------

plan::step plan::add(const action& added) {
  state_->actions.push_back(added);
  action& kept = state_->actions.back();
  kept.of = state_;
  kept.node = graph_->add_node(
      [](void* value) -> status_t {
        const action& a = *static_cast<action*>(value);
        switch (a.what) {
          case action::kind::send:
            if (const int failed = a.of->device->runtime.first_failed(); failed >= 0) {
              throw peer_failure_error(failed, base::StrCat("rank ", failed, " is gone"));
            }
            return post_message(*a.of->device, a.of->make(a, const_cast<void*>(a.from)),
                                /*may_wait=*/true)
                .errorcode;
          case action::kind::receive: {
            status_t status;
            return a.of->engine->post_recv(a.of->make(a, a.to), &status).errorcode;
          }
          case action::kind::copy:
            if (a.size > 0) std::memcpy(a.to, a.from, a.size);
            return errorcode_t::done;
          case action::kind::reduce:
            a.op(a.left, a.from, a.to, a.size);
            return errorcode_t::done;
        }
        return errorcode_t::fatal;
      },
      &kept, nullptr);
  graph_->add_edge(phase_begin_, kept.node, nullptr);
  phase_.push_back(kept.node);
  return kept.node;
}

plan::step plan::send(int to, const void* bytes, size_t size, uint32_t round) {
  action a{action::kind::send};
  a.rank = to;
  a.round = round;
  a.from = bytes;
  a.size = size;
  return add(a);
}

plan::step plan::receive(int from, void* bytes, size_t size, uint32_t round) {
  action a{action::kind::receive};
  a.rank = from;
  a.round = round;
  a.to = bytes;
  a.size = size;
  return add(a);
}

plan::step plan::copy(void* to, const void* from, size_t size) {
  action a{action::kind::copy};
  a.to = to;
  a.from = from;
  a.size = size;
  return add(a);
}

plan::step plan::reduce(reduce_op_t op, const void* left, const void* right, void* dst,
                        size_t count) {
  action a{action::kind::reduce};
  a.op = op;
  a.left = left;
  a.from = right;
  a.to = dst;
  a.size = count;
  return add(a);
}

void plan::then() {
  if (phase_.empty()) return;
  const step join = graph_->add_node(nullptr, nullptr, nullptr);
  for (step each : phase_) graph_->add_edge(each, join, nullptr);
  phase_.clear();
  phase_begin_ = join;
}

void plan::order(step before, step after) { graph_->add_edge(before, after, nullptr); }

// ---- running
// ----------------------------------------------------------------------------------------

void plan::run() {
  then();
  graph_->add_edge(phase_begin_, GRAPH_END, nullptr);
  if (end_ != nullptr && inside_progress() && size_ > 1) {
    throw std::logic_error(base::StrCat("lci: ", what_,
                                        " would have to wait inside a handler, which it may not; "
                                        "give it a comp"));
  }
  graph_->own_itself();
  graph* const running = graph_.release();
  running->start();
  if (end_ != nullptr) run_blocking();
}

void plan::run_blocking() {
  struct guard {
    ~guard() { flag->leave(); }
    end_flag* flag;
  } leave{end_};
  wait_until(&device_, {what_, observe::rank_report::any_rank, number_}, [this] {
    // What waits for a message of a third rank, which has given up, does not end by itself.
    if (runtime_.any_failed()) {
      const int failed = runtime_.first_failed();
      throw peer_failure_error(
          failed, base::StrCat("lci: ", what_, " on rank ", rank_, ": rank ", failed, " is gone"));
    }
    return end_->set.load(std::memory_order_acquire);
  });
  if (end_->code == errorcode_t::fatal) {
    throw std::runtime_error(base::StrCat("lci: ", what_, " failed on rank ", rank_,
                                          ": do all ranks pass the same sizes?"));
  }
}

// ---- arguments
// --------------------------------------------------------------------------------------

size_t bytes_of(size_t count, size_t item_size, const char* what) {
  if (count != 0 && item_size > ~size_t{0} / count) {
    throw std::invalid_argument(
        base::StrCat("lci: ", what, ": ", count, " items of ", item_size, " bytes"));
  }
  return count * item_size;
}

void check_buffer(const void* buffer, size_t bytes, const char* what, const char* name) {
  if (buffer == nullptr && bytes > 0) {
    throw std::invalid_argument(
        base::StrCat("lci: ", what, ": ", name, " is null, and has ", bytes, " bytes"));
  }
}

void check_op(reduce_op_t op, const char* what) {
  if (op == nullptr) throw std::invalid_argument(base::StrCat("lci: ", what, ": op is null"));
}

void check_root(int root, int size, const char* what) {
  if (root < 0 || root >= size) {
    throw std::invalid_argument(
        base::StrCat("lci: ", what, ": root is ", root, ", not 0 to ", size - 1));
  }
}

}  // namespace lci::rt
