/// @file
/// Graphs of operations and functions.

/// @defgroup lci_graphs Graphs
/// A graph is a set of operations and functions with a partial order, and is itself a completion
/// object (SC'25 paper, section 4.2.6).
/// @code
/// lci::comp_t graph = lci::alloc_graph();
/// lci::graph_node_t receive =
///     lci::graph_add_node_op(graph, lci::post_recv_x(rank, buffer, size, tag, graph));
/// lci::graph_node_t use = lci::graph_add_node(graph, consume);
/// lci::graph_add_edge(graph, lci::GRAPH_START, receive);
/// lci::graph_add_edge(graph, receive, use);
/// lci::graph_add_edge(graph, use, lci::GRAPH_END);
/// lci::graph_start(graph);
/// while (lci::graph_test(graph).is_retry()) lci::progress();
/// @endcode
///
/// A node runs when all nodes before it are complete, in the thread that completes the last of
/// them. A node whose function returns `done` is complete. A node whose function returns `posted`
/// becomes complete later, by graph_node_mark_complete or, for an operation whose local completion
/// object is the graph, by its signal. A node whose function returns `retry` runs again in
/// graph_test. When a node is complete, the functions of its edges run, each with the status of the
/// node and the values of both ends. Only edges from GRAPH_START start nodes. The graph is complete
/// when all nodes with an edge to GRAPH_END are complete and no other node is running.
///
/// A node that ends with `fatal`, or whose function throws a std::exception, ends the graph with
/// `fatal`: no further node begins.
///
/// **Thread safety.** One thread at a time adds nodes and edges, while the graph does not run. Any
/// thread may call the other operations at any time. A graph that is complete may be started again.
#ifndef LCI_API_GRAPH_HPP_
#define LCI_API_GRAPH_HPP_

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "lci/api/comp.hpp"
#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"

#pragma GCC visibility push(default)

namespace lci {

/// @addtogroup lci_graphs
/// @{

/// A node of a graph. The graph owns it.
using graph_node_t = void*;
/// A function of the program that a node runs. Its status states whether the node is complete.
using graph_node_run_cb_t = status_t (*)(void* value);
/// A function of the program that runs between two nodes, with the status of the first node and the
/// values of both.
using graph_edge_run_cb_t = void (*)(status_t status, void* src_value, void* dst_value);

/// The beginning of every graph. Its value, as functions of edges get it, is null.
inline const graph_node_t GRAPH_START = reinterpret_cast<graph_node_t>(uintptr_t{1});
/// The end of every graph. Its value, as functions of edges get it, is the user_context of the
/// graph.
inline const graph_node_t GRAPH_END = reinterpret_cast<graph_node_t>(uintptr_t{2});
/// As the function of a node: none. The node is complete as soon as it runs.
constexpr graph_node_run_cb_t GRAPH_NODE_DUMMY_CB = nullptr;

/// Allocates an empty graph. Local.
///
/// Options: `runtime`, `comp` (signaled each time the graph is complete, with the status of the
/// graph; default: none), `name`, `user_context`.
class [[nodiscard]] alloc_graph_x : public option::runtime_option<alloc_graph_x>,
                                    public option::comp_option<alloc_graph_x>,
                                    public option::name_option<alloc_graph_x>,
                                    public option::user_context_option<alloc_graph_x> {
 public:
  /// Sets every option to its default.
  [[nodiscard]] alloc_graph_x() = default;
  /// Allocates the graph.
  /// @return the graph. The program frees it by free_comp while it does not run.
  /// @throws std::invalid_argument if `comp` is COMP_NULL_RETRY.
  /// @throws std::logic_error if there is no runtime.
  comp_t operator()() const;
};
/// alloc_graph_x with the default of every option.
/// @relates alloc_graph_x
inline comp_t alloc_graph() { return alloc_graph_x()(); }

/// Adds a node that runs `fn`. One thread at a time may add nodes and edges, while the graph does
/// not run.
///
/// Required: `comp` (the graph), `fn`. Options: `runtime`; `value`, the argument of `fn` (null);
/// `free_cb`, a function that is called with `value` when the graph is freed (none).
class [[nodiscard]] graph_add_node_x
    : public comp_operation<graph_add_node_x>,
      public option::value_option<graph_add_node_x>,
      public option::free_cb_option<graph_add_node_x>,
      public argument::fn_argument<graph_add_node_x, graph_node_run_cb_t> {
 public:
  /// Takes the required arguments.
  /// @param function the function `fn`, or GRAPH_NODE_DUMMY_CB.
  [[nodiscard]] graph_add_node_x(comp_t comp, graph_node_run_cb_t function)
      : comp_operation(comp), fn_argument(function) {}
  /// Adds the node.
  /// @return the node, which the graph owns.
  /// @throws std::invalid_argument if the handle is empty, the graph has been freed, or the object
  ///   is of another kind.
  graph_node_t operator()() const;
};
/// graph_add_node_x with the default of every option.
/// @relates graph_add_node_x
inline graph_node_t graph_add_node(comp_t comp, graph_node_run_cb_t fn) {
  return graph_add_node_x(comp, fn)();
}

/// Adds an edge: `dst` runs after `src`. One thread at a time may add nodes and edges, while the
/// graph does not run.
///
/// Required: `comp` (the graph), `src`, `dst`. Options: `runtime`; `fn`, a function that is called
/// between the two nodes (none).
class [[nodiscard]] graph_add_edge_x
    : public comp_operation<graph_add_edge_x>,
      public argument::src_argument<graph_add_edge_x, graph_node_t>,
      public argument::dst_argument<graph_add_edge_x, graph_node_t>,
      public argument::fn_argument<graph_add_edge_x, graph_edge_run_cb_t> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] graph_add_edge_x(comp_t comp, graph_node_t src, graph_node_t dst)
      : comp_operation(comp), src_argument(src), dst_argument(dst), fn_argument(nullptr) {}
  /// Adds the edge.
  /// @throws std::invalid_argument if `src` or `dst` is not a node of this graph, `src` is
  ///   GRAPH_END, `dst` is GRAPH_START, or `comp` is not a graph.
  void operator()() const;
};
/// graph_add_edge_x with the default of every option.
/// @relates graph_add_edge_x
inline void graph_add_edge(comp_t comp, graph_node_t src, graph_node_t dst) {
  graph_add_edge_x(comp, src, dst)();
}

/// Completes a node whose function has returned, or is about to return, `posted`. Thread-safe.
///
/// Required: `node`. Options: `runtime`; `status`, the status of the node (`done`).
class [[nodiscard]] graph_node_mark_complete_x
    : public option::runtime_option<graph_node_mark_complete_x>,
      public option::status_option<graph_node_mark_complete_x>,
      public argument::node_argument<graph_node_mark_complete_x, graph_node_t> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] explicit graph_node_mark_complete_x(graph_node_t node) : node_argument(node) {}
  /// Completes the node.
  /// @throws std::invalid_argument if this is not a node with a function.
  /// @throws std::logic_error if the node is not in progress.
  void operator()() const;
};
/// graph_node_mark_complete_x with the default of every option.
/// @relates graph_node_mark_complete_x
inline void graph_node_mark_complete(graph_node_t node) { graph_node_mark_complete_x{node}(); }

/// Starts a graph. Nodes that can run at once run in this call. A graph that is complete may be
/// started again.
///
/// Required: `comp` (the graph). Options: `runtime`.
class [[nodiscard]] graph_start_x : public comp_operation<graph_start_x> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] explicit graph_start_x(comp_t comp) : comp_operation(comp) {}
  /// Starts the graph.
  /// The library logs a warning if some nodes would never run.
  /// @throws std::logic_error if the graph is running, has nodes of which none would run, or cannot
  ///   reach its end: a node with an edge to GRAPH_END waits for a node to which no path from
  ///   GRAPH_START leads, or for itself.
  /// @throws std::invalid_argument if the handle is empty, the graph has been freed, or the object
  ///   is of another kind.
  void operator()() const;
};
/// graph_start_x with the default of every option.
/// @relates graph_start_x
inline void graph_start(comp_t comp) { graph_start_x{comp}(); }

/// Tests whether a graph is complete, and runs the nodes again whose functions have returned
/// `retry`. Thread-safe. The call does not make progress.
///
/// Required: `comp` (the graph). Options: `runtime`.
class [[nodiscard]] graph_test_x : public comp_operation<graph_test_x> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] explicit graph_test_x(comp_t comp) : comp_operation(comp) {}
  /// Tests the graph.
  /// @return `done` or `fatal` if the graph is complete, else `retry`.
  /// @throws std::invalid_argument if the handle is empty, the graph has been freed, or the object
  ///   is of another kind.
  status_t operator()() const;
};
/// graph_test_x with the default of every option.
/// @relates graph_test_x
inline status_t graph_test(comp_t comp) { return graph_test_x{comp}(); }

/// Adds a node that runs a copy of `op`: an operation that has not been called, or a functor of the
/// program with a function user_context(value). The user_context of the copy becomes the node; so the
/// graph, as the local completion object of the operation, knows which node is complete. The copy is
/// freed with the graph. The status of the node is the result of `op` if that is a status_t, error_t
/// or errorcode_t, else `done`.
/// @return the node, which the graph owns.
template <class Op>
graph_node_t graph_add_node_op(comp_t graph, const Op& op) {
  static_assert(std::is_invocable_v<Op&>,
                "graph_add_node_op takes an operation that has not been called, as in "
                "graph_add_node_op(graph, post_send_x(...)), without the () that calls it");
  if constexpr (std::is_invocable_v<Op&>) {
    auto copy = std::make_unique<Op>(op);
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
    const graph_node_t node = graph_add_node_x(graph, run).value(copy.get()).free_cb(free_copy)();
    copy.release()->user_context(node);
    return node;
  } else {
    return nullptr;  // no more errors than the one above
  }
}

/// @}

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_GRAPH_HPP_
