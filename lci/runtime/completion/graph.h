// Graphs of operations and functions: what stands behind api/graph.hpp.
#ifndef LCI_RUNTIME_COMPLETION_GRAPH_H_
#define LCI_RUNTIME_COMPLETION_GRAPH_H_

#include <atomic>
#include <deque>
#include <exception>
#include <vector>

#include "lci/api/comp.hpp"
#include "lci/api/graph.hpp"
#include "lci/ds/spinlock.h"
#include "lci/runtime/completion/impl.h"

namespace lci::rt {

// Thread safety: add_node, add_edge, start and destruction by one thread while it does not run;
// complete, signal and test by any thread at any time.
//
// Invariants, while it runs
//   1. active_ is the number of nodes that have begun and whose completion has not been dealt with
//      to the end, plus one while start() is at work. The thread that brings it to 0 finishes the
//      graph: clearing running_ is its last access, after which the graph may be gone.
//   2. A node begins in the thread that takes its `waits` to 0, once.
class graph : public library_comp {
 public:
  static constexpr attr_comp_type_t type = attr_comp_type_t::graph;
  struct node;

  // at_end (may be null) is signaled at each end.
  graph(const comp_attr_t& attributes, comp_impl_t* at_end);
  ~graph() override;

  node* add_node(graph_node_run_cb_t fn, void* value, graph_node_free_cb_t free_cb);
  // Throws std::invalid_argument.
  void add_edge(graph_node_t src, graph_node_t dst, graph_edge_run_cb_t fn);
  // Throws std::logic_error.
  void start();
  status_t test();
  // Of a node of any graph.
  static void mark_complete(graph_node_t node, const status_t& status);
  // status.user_context is the node.
  void signal(status_t status) override;
  bool is_running() const { return running_.load(std::memory_order_acquire); }
  // To be called before start(): the graph has no other owner, and deletes itself at its end,
  // before at_end is signaled.
  void own_itself() { owns_itself_ = true; }
  // The first exception of a node, if that is why the graph ended with `fatal`. Call it when the
  // graph does not run.
  std::exception_ptr failure() const { return failure_; }

 private:
  struct edge {
    node* to;
    graph_edge_run_cb_t fn;
  };

  node* resolve(graph_node_t handle, const char* what);
  void validate();
  void begin(node* first);
  bool run(node* ready, status_t* status);
  node* deal_with(node* completed, const status_t& status, node* others);
  void fail(const status_t& status);
  void leave();

  comp_impl_t* const at_end_;
  bool owns_itself_ = false;
  std::deque<node> nodes_;  // the first two are start and end
  bool validated_ = false;

  std::atomic<bool> running_{false};
  std::atomic<int64_t> active_{0};
  std::atomic<bool> failed_{false};
  ds::spinlock lock_;
  status_t result_;               // guarded by lock_ while it runs
  std::exception_ptr failure_;    // guarded by lock_ while it runs
  std::vector<node*> to_repeat_;  // guarded by lock_: their functions returned retry
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_COMPLETION_GRAPH_H_
