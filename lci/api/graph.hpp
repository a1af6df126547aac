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

#include <cstdint>
#include <type_traits>
#include <utility>

#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"

#pragma GCC visibility push(default)

namespace lci {

using graph_node_t = void*;
using graph_node_run_cb_t = status_t (*)(void* value);
using graph_edge_run_cb_t = void (*)(status_t status, void* src_value, void* dst_value);

/// The beginning and the end of every graph. As their values, edge functions get null and the
/// user_context of the graph.
inline const graph_node_t GRAPH_START = reinterpret_cast<graph_node_t>(uintptr_t{1});
inline const graph_node_t GRAPH_END = reinterpret_cast<graph_node_t>(uintptr_t{2});
// As function of a node: none; the node is complete as soon as it runs.
constexpr graph_node_run_cb_t GRAPH_NODE_DUMMY_CB = nullptr;

// comp: signalled each time the graph is complete (status of the graph). Freed with free_comp, when
// it does not run.
class [[nodiscard]] alloc_graph_x : public option::runtime_option<alloc_graph_x>,
                                    public option::comp_option<alloc_graph_x>,
                                    public option::name_option<alloc_graph_x>,
                                    public option::user_context_option<alloc_graph_x> {
 public:
  [[nodiscard]] alloc_graph_x() = default;
  comp_t operator()() const;
};
inline comp_t alloc_graph() { return alloc_graph_x()(); }

// Adds a node that runs fn(value). free_cb(value), if given, is called when the graph is freed.
class [[nodiscard]] graph_add_node_x
    : public option::runtime_option<graph_add_node_x>,
      public option::value_option<graph_add_node_x>,
      public option::free_cb_option<graph_add_node_x>,
      public argument::comp_argument<graph_add_node_x, comp_t>,
      public argument::fn_argument<graph_add_node_x, graph_node_run_cb_t> {
 public:
  [[nodiscard]] graph_add_node_x(comp_t comp, graph_node_run_cb_t function)
      : comp_argument(comp), fn_argument(function) {}
  graph_node_t operator()() const;
};
inline graph_node_t graph_add_node(comp_t comp, graph_node_run_cb_t fn) {
  return graph_add_node_x(comp, fn)();
}

// dst runs after src. fn: called in between.
class [[nodiscard]] graph_add_edge_x
    : public option::runtime_option<graph_add_edge_x>,
      public argument::comp_argument<graph_add_edge_x, comp_t>,
      public argument::src_argument<graph_add_edge_x, graph_node_t>,
      public argument::dst_argument<graph_add_edge_x, graph_node_t>,
      public argument::fn_argument<graph_add_edge_x, graph_edge_run_cb_t> {
 public:
  [[nodiscard]] graph_add_edge_x(comp_t comp, graph_node_t src, graph_node_t dst)
      : comp_argument(comp), src_argument(src), dst_argument(dst), fn_argument(nullptr) {}
  void operator()() const;
};
inline void graph_add_edge(comp_t comp, graph_node_t src, graph_node_t dst) {
  graph_add_edge_x(comp, src, dst)();
}

// Completes a node whose function returned `posted`, or is about to.
class [[nodiscard]] graph_node_mark_complete_x
    : public option::runtime_option<graph_node_mark_complete_x>,
      public option::status_option<graph_node_mark_complete_x>,
      public argument::node_argument<graph_node_mark_complete_x, graph_node_t> {
 public:
  [[nodiscard]] explicit graph_node_mark_complete_x(graph_node_t node) : node_argument(node) {}
  void operator()() const;
};
inline void graph_node_mark_complete(graph_node_t node) { graph_node_mark_complete_x{node}(); }

// Runs the graph. Throws std::logic_error if it is running, or no path leads from GRAPH_START to
// GRAPH_END.
class [[nodiscard]] graph_start_x : public option::runtime_option<graph_start_x>,
                                    public argument::comp_argument<graph_start_x, comp_t> {
 public:
  [[nodiscard]] explicit graph_start_x(comp_t comp) : comp_argument(comp) {}
  void operator()() const;
};
inline void graph_start(comp_t comp) { graph_start_x{comp}(); }

// done (or fatal) when the graph is complete, else retry. Runs nodes again that returned `retry`.
class [[nodiscard]] graph_test_x : public option::runtime_option<graph_test_x>,
                                   public argument::comp_argument<graph_test_x, comp_t> {
 public:
  [[nodiscard]] explicit graph_test_x(comp_t comp) : comp_argument(comp) {}
  status_t operator()() const;
};
inline status_t graph_test(comp_t comp) { return graph_test_x{comp}(); }

/// Adds a node that runs a copy of `op`, an operation or a functor of the program's own, whose
/// user_context becomes the node: so the graph, given as the operation's local completion object,
/// knows which node is complete. The copy is freed with the graph. The status of the node is what
/// `op` returns, if that is a status_t, error_t or errorcode_t, else `done`.
template <class Op>
graph_node_t graph_add_node_op(comp_t graph, const Op& op) {
  auto* copy = new Op(op);
  const graph_node_run_cb_t run = [](void* value) -> status_t {
    Op& held = *static_cast<Op*>(value);
    using result = decltype(held());
    if constexpr (std::is_same_v<result, status_t> || std::is_same_v<result, errorcode_t>) {
      return held();
    } else if constexpr (std::is_base_of_v<error_t, result>) {
      status_t status;
      status.error = held();
      return status;
    } else {
      static_cast<void>(held());
      return errorcode_t::done;
    }
  };
  const graph_node_free_cb_t free_copy = [](void* value) { delete static_cast<Op*>(value); };
  const graph_node_t node = graph_add_node_x(graph, run).value(copy).free_cb(free_copy)();
  copy->user_context(node);
  return node;
}

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_GRAPH_HPP_
