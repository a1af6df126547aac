// Graphs: operations and functions with a partial order, which are themselves a completion object
// (SC'25 paper, section 4.2.6).
//
//   lci::comp_t graph = lci::alloc_graph();
//   lci::graph_node_t receive = lci::graph_add_node_op(graph, lci::post_recv_x(rank, buffer, size,
//   tag, graph)); lci::graph_node_t use = lci::graph_add_node(graph, consume);
//   lci::graph_add_edge(graph, lci::GRAPH_START, receive);
//   lci::graph_add_edge(graph, receive, use);
//   lci::graph_add_edge(graph, use, lci::GRAPH_END);
//   lci::graph_start(graph);
//   while (lci::graph_test(graph).is_retry()) lci::progress();
//
// A node runs when all nodes before it are complete, in whichever thread completes the last of
// them. It is complete when its function returns `done`; when it returns `posted`, later, by
// graph_node_mark_complete or, for an operation whose local completion object is the graph, by its
// signal; when it returns `retry`, graph_test runs it again. Then the functions of its edges run,
// each with the node's status and the values of both ends. Only edges from GRAPH_START start
// anything. The graph is complete when all nodes with an edge to GRAPH_END are, and no other node
// is running.
//
// A node that ends with `fatal` ends the graph with that status: no further node begins.
//
// Thread safety: nodes and edges are added by one thread, while the graph does not run. Everything
// else by any thread. A graph that is complete may be started again.
#ifndef LCI_API_GRAPH_HPP_
#define LCI_API_GRAPH_HPP_

#include <type_traits>
#include <utility>

#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"

namespace lci {

using graph_node_t = void*;
using graph_node_run_cb_t = status_t (*)(void* value);
using graph_edge_run_cb_t = void (*)(status_t status, void* src_value, void* dst_value);

// The beginning and the end of every graph. The value that edge functions are given for them is
// null.
extern const graph_node_t GRAPH_START;
extern const graph_node_t GRAPH_END;
// As function of a node: none; the node is complete as soon as it runs.
constexpr graph_node_run_cb_t GRAPH_NODE_DUMMY_CB = nullptr;

// comp: signalled each time the graph is complete (status of the graph). Freed with free_comp, when
// it does not run.
class alloc_graph_x : public option::runtime_option<alloc_graph_x>,
                      public option::comp_option<alloc_graph_x>,
                      public option::name_option<alloc_graph_x>,
                      public option::user_context_option<alloc_graph_x> {
 public:
  comp_t operator()() const;
};
inline comp_t alloc_graph() { return alloc_graph_x()(); }

// Adds a node that runs fn(value). free_cb(value), if given, is called when the graph is freed.
class graph_add_node_x : public option::runtime_option<graph_add_node_x>,
                         public option::value_option<graph_add_node_x>,
                         public option::free_cb_option<graph_add_node_x> {
 public:
  graph_add_node_x(comp_t comp, graph_node_run_cb_t fn) : comp_(comp), fn_(fn) {}
  graph_node_t operator()() const;

 private:
  comp_t comp_;
  graph_node_run_cb_t fn_;
};
inline graph_node_t graph_add_node(comp_t comp, graph_node_run_cb_t fn) {
  return graph_add_node_x(comp, fn)();
}

// dst runs after src. fn: called in between.
class graph_add_edge_x : public option::runtime_option<graph_add_edge_x> {
 public:
  graph_add_edge_x(comp_t comp, graph_node_t src, graph_node_t dst)
      : comp_(comp), src_(src), dst_(dst) {}
  graph_add_edge_x& fn(graph_edge_run_cb_t value) { return fn_ = value, *this; }
  void operator()() const;

 private:
  comp_t comp_;
  graph_node_t src_;
  graph_node_t dst_;
  graph_edge_run_cb_t fn_ = nullptr;
};
inline void graph_add_edge(comp_t comp, graph_node_t src, graph_node_t dst) {
  graph_add_edge_x(comp, src, dst)();
}

// Completes a node whose function returned `posted`, or is about to.
class graph_node_mark_complete_x : public option::runtime_option<graph_node_mark_complete_x>,
                                   public option::status_option<graph_node_mark_complete_x> {
 public:
  explicit graph_node_mark_complete_x(graph_node_t node) : node_(node) {}
  void operator()() const;

 private:
  graph_node_t node_;
};
inline void graph_node_mark_complete(graph_node_t node) { graph_node_mark_complete_x{node}(); }

// Runs the graph. Throws std::logic_error if it is running, or no path leads from GRAPH_START to
// GRAPH_END.
class graph_start_x : public option::runtime_option<graph_start_x> {
 public:
  explicit graph_start_x(comp_t comp) : comp_(comp) {}
  void operator()() const;

 private:
  comp_t comp_;
};
inline void graph_start(comp_t comp) { graph_start_x{comp}(); }

// done (or fatal) when the graph is complete, else retry. Runs nodes again that returned `retry`.
class graph_test_x : public option::runtime_option<graph_test_x> {
 public:
  explicit graph_test_x(comp_t comp) : comp_(comp) {}
  status_t operator()() const;

 private:
  comp_t comp_;
};
inline status_t graph_test(comp_t comp) { return graph_test_x{comp}(); }

// Adds a node that runs a copy of `op`, with the node as its user_context, so that the graph, given
// as the operation's local completion object, knows which node is complete.
template <class Op>
graph_node_t graph_add_node_op(comp_t graph, const Op& op) {
  auto* copy = new Op(op);
  const graph_node_t node = graph_add_node_x(graph,
                                             [](void* value) -> status_t {
                                               const auto& held = *static_cast<Op*>(value);
                                               if constexpr (std::is_void_v<decltype(held())>) {
                                                 held();
                                                 return status_t(errorcode_t::done);
                                               } else {
                                                 return held();
                                               }
                                             })
                                .value(copy)
                                .free_cb([](void* value) { delete static_cast<Op*>(value); })();
  copy->user_context(node);
  return node;
}

}  // namespace lci

#endif  // LCI_API_GRAPH_HPP_
