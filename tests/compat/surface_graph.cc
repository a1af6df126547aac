// Graphs.
#include <cstddef>
#include <cstdint>
#include <string>

#include "surface.h"

using namespace surface::argument;

void surface::check_graph_operations() {
  OPERATION(lci::comp_t, alloc_graph, ());
  SETTER(alloc_graph, lci::comp_t, comp);
  SETTER(alloc_graph, const char*, name);
  SETTER(alloc_graph, void*, user_context);
  SETTER(alloc_graph, lci::runtime_t, runtime);

  OPERATION(lci::graph_node_t, graph_add_node, (comp, run_node));
  SETTER(graph_add_node, lci::comp_t, comp);
  SETTER(graph_add_node, lci::graph_node_run_cb_t, fn);
  SETTER(graph_add_node, void*, value);
  SETTER(graph_add_node, lci::graph_node_free_cb_t, free_cb);
  SETTER(graph_add_node, lci::runtime_t, runtime);

  OPERATION(void, graph_add_edge, (comp, node, node));
  SETTER(graph_add_edge, lci::comp_t, comp);
  SETTER(graph_add_edge, lci::graph_node_t, src);
  SETTER(graph_add_edge, lci::graph_node_t, dst);
  SETTER(graph_add_edge, lci::graph_edge_run_cb_t, fn);
  SETTER(graph_add_edge, lci::runtime_t, runtime);

  OPERATION(void, graph_node_mark_complete, (node));
  SETTER(graph_node_mark_complete, lci::graph_node_t, node);
  SETTER(graph_node_mark_complete, lci::status_t, status);
  SETTER(graph_node_mark_complete, lci::runtime_t, runtime);

  OPERATION(void, graph_start, (comp));
  SETTER(graph_start, lci::comp_t, comp);
  SETTER(graph_start, lci::runtime_t, runtime);

  OPERATION(lci::status_t, graph_test, (comp));
  SETTER(graph_test, lci::comp_t, comp);
  SETTER(graph_test, lci::runtime_t, runtime);
}
