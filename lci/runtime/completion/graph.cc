#include "lci/runtime/completion/graph.h"

#include <utility>

#include "lci/base/log.h"
#include "lci/runtime/core/throw.h"

namespace lci {

// Addresses that no node has; compared, never followed.

namespace rt {

struct graph::node {
  graph* owner;
  graph_node_run_cb_t fn;
  void* value;
  graph_node_free_cb_t free_cb;
  std::vector<edge> edges;  // to those that come after
  int before = 0;           // edges from those that come before
  std::atomic<int> waits{0};
  std::atomic<bool> open{false};  // it has begun, and is not complete
  node* next = nullptr;           // in a list of nodes that are ready, of one thread
};

graph::graph(const comp_attr_t& attributes, comp_impl_t* at_end)
    : library_comp(attributes), at_end_(at_end) {
  add_node(nullptr, nullptr, nullptr);
  add_node(nullptr, attributes.user_context, nullptr);
}

graph::~graph() {
  for (node& each : nodes_) {
    if (each.free_cb != nullptr) each.free_cb(each.value);
  }
}

// Building.

graph::node* graph::add_node(graph_node_run_cb_t fn, void* value, graph_node_free_cb_t free_cb) {
  nodes_.emplace_back();
  node& added = nodes_.back();
  added.owner = this;
  added.fn = fn;
  added.value = value;
  added.free_cb = free_cb;
  validated_ = false;
  return &added;
}

graph::node* graph::resolve(graph_node_t handle, const char* what) {
  if (handle == GRAPH_START) return &nodes_[0];
  if (handle == GRAPH_END) return &nodes_[1];
  node* candidate = static_cast<node*>(handle);
  if (candidate == nullptr || candidate->owner != this) {
    throw_invalid_argument("graph_add_edge: ", what, " is not a node of this graph");
  }
  return candidate;
}

void graph::add_edge(graph_node_t src, graph_node_t dst, graph_edge_run_cb_t fn) {
  if (src == GRAPH_END || dst == GRAPH_START) {
    throw_invalid_argument("graph_add_edge: nothing comes after GRAPH_END or before GRAPH_START");
  }
  node* from = resolve(src, "src");
  node* to = resolve(dst, "dst");
  from->edges.push_back({to, fn});
  ++to->before;
  validated_ = false;
}

// All nodes that lead to the end must run: nodes on a cycle, or behind a node that nothing starts,
// never do. Other nodes that never run are most often a forgotten edge.
void graph::validate() {
  for (node& each : nodes_) each.waits.store(each.before, std::memory_order_relaxed);
  std::vector<node*> ready = {&nodes_[0]};
  bool ends = nodes_[1].before == 0;  // then its end is that no node runs
  size_t running = 0;
  while (!ready.empty()) {
    node* now = ready.back();
    ready.pop_back();
    if (now != &nodes_[0] && now != &nodes_[1]) ++running;
    ends = ends || now == &nodes_[1];
    for (const edge& out : now->edges) {
      if (out.to->waits.fetch_sub(1, std::memory_order_relaxed) == 1) ready.push_back(out.to);
    }
  }
  if (!ends) {
    throw_logic_error(
        "graph_start: graph \"", attr.name,
        "\" can't come to its end: some node with an edge to GRAPH_END waits for one that no path "
        "from GRAPH_START leads to, or for itself");
  }
  const size_t functions = nodes_.size() - 2;
  if (running == 0 && functions != 0) {
    throw_logic_error("graph_start: graph \"", attr.name, "\" has ", functions,
                      " nodes, none of which would run: no edge leads from GRAPH_START to one "
                      "that waits for nothing else");
  }
  if (running < functions) {
    LCI_LOG(warn, "graph_start: ", functions - running, " of the ", functions, " nodes of graph \"",
            attr.name,
            "\" never run: they wait for nodes that no path from GRAPH_START leads to, or for "
            "themselves");
  }
  validated_ = true;
}

// Running.

void graph::start() {
  if (is_running()) throw_logic_error("graph_start: graph \"", attr.name, "\" is running");
  if (!validated_) validate();
  for (node& each : nodes_) each.waits.store(each.before, std::memory_order_relaxed);
  result_ = status_t(errorcode_t::done);
  result_.user_context = attr.user_context;
  failure_ = nullptr;
  failed_.store(false, std::memory_order_relaxed);
  running_.store(true, std::memory_order_relaxed);
  active_.store(1, std::memory_order_release);
  begin(&nodes_[0]);
  leave();
}

// Runs nodes that are ready, and those that become ready by it: a list, so that a long chain is no
// deep recursion. active_ counts the caller.
void graph::begin(node* first) {
  for (node* ready = first; ready != nullptr;) {
    node* now = std::exchange(ready, ready->next);
    now->next = nullptr;
    active_.fetch_add(1, std::memory_order_relaxed);
    status_t status;
    // Not complete: the thread that completes the node calls leave() for it.
    if (!run(now, &status)) continue;
    ready = deal_with(now, status, ready);
    active_.fetch_sub(1, std::memory_order_acq_rel);
  }
}

// False if the node is not complete yet.
bool graph::run(node* ready, status_t* status) {
  *status = status_t(errorcode_t::done);
  if (ready->fn == nullptr || failed_.load(std::memory_order_relaxed)) return true;
  // Before the function: it may be completed by another thread before it returns.
  ready->open.store(true, std::memory_order_release);
  try {
    *status = ready->fn(ready->value);
  } catch (const std::exception& error) {
    LCI_LOG(error, "graph \"", attr.name, "\": ", error.what());
    const std::lock_guard<ds::spinlock> guard(lock_);
    if (failure_ == nullptr) failure_ = std::current_exception();
    *status = errorcode_t::fatal;
  }
  if (status->is_posted()) return false;
  ready->open.store(false, std::memory_order_relaxed);
  if (status->is_retry()) {
    const std::lock_guard<ds::spinlock> guard(lock_);
    to_repeat_.push_back(ready);
    return false;
  }
  return true;
}

// Returns the nodes that become ready by its completion, in front of `others`.
graph::node* graph::deal_with(node* completed, const status_t& status, node* others) {
  if (status.error.errorcode == errorcode_t::fatal) fail(status);
  if (failed_.load(std::memory_order_relaxed)) return others;
  for (const edge& out : completed->edges) {
    if (out.fn != nullptr) out.fn(status, completed->value, out.to->value);
    // acq_rel: what the nodes before did is visible to the one that begins.
    if (out.to->waits.fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
    out.to->next = others;
    others = out.to;
  }
  return others;
}

void graph::fail(const status_t& status) {
  const std::lock_guard<ds::spinlock> guard(lock_);
  if (failed_.load(std::memory_order_relaxed)) return;
  result_.error = status.error;
  result_.rank = status.rank;
  failed_.store(true, std::memory_order_relaxed);
}

void graph::leave() {
  if (active_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  const status_t result = result_;
  comp_impl_t* const target = at_end_;
  const bool mine = owns_itself_;
  running_.store(false, std::memory_order_release);
  if (mine) delete this;
  if (target != nullptr) target->signal(result);
}

void graph::mark_complete(graph_node_t handle, const status_t& status) {
  if (handle == nullptr || handle == GRAPH_START || handle == GRAPH_END) {
    throw_invalid_argument("graph_node_mark_complete: this is no node of a function");
  }
  node* completed = static_cast<node*>(handle);
  graph* owner = completed->owner;
  // acq_rel: as for `waits`.
  if (!completed->open.exchange(false, std::memory_order_acq_rel)) {
    throw_logic_error("a node of graph \"", owner->attr.name,
                      "\" was completed that is not under way");
  }
  owner->begin(owner->deal_with(completed, status, nullptr));
  owner->leave();
}

void graph::signal(status_t status) { mark_complete(status.user_context, status); }

status_t graph::test() {
  std::vector<node*> again;
  {
    const std::lock_guard<ds::spinlock> guard(lock_);
    again.swap(to_repeat_);
  }
  for (node* each : again) {
    status_t status;
    if (!run(each, &status)) continue;
    begin(deal_with(each, status, nullptr));
    leave();
  }
  return is_running() ? status_t(errorcode_t::retry) : result_;
}

}  // namespace rt
}  // namespace lci
