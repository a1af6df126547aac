// Graphs as programs build them: functions, operations and functors of their own as nodes.
#include <atomic>
#include <thread>

#include "check.h"

namespace {

// Nodes and edges.

std::vector<int> visited;  // by one thread
int freed = 0;
int edges_run = 0;

lci::status_t visit(void* value) {
  visited.push_back(*static_cast<int*>(value));
  return lci::errorcode_t::done;
}
void count_freed(void*) { ++freed; }

void test_functions() {
  int context = 0;
  int numbers[4] = {0, 1, 2, 3};
  lci::comp_t graph = lci::alloc_graph_x().user_context(&context)();
  lci::graph_node_t nodes[4];
  for (int i = 0; i < 4; ++i) {
    nodes[i] = lci::graph_add_node_x(graph, visit).value(&numbers[i]).free_cb(count_freed)();
  }
  const auto add_edge = [&](lci::graph_node_t src, lci::graph_node_t dst) {
    lci::graph_add_edge_x(graph, src, dst)
        .fn([](lci::status_t status, void* src_value, void* dst_value) {
          EXPECT(status.is_done());
          EXPECT(src_value != dst_value);
          ++edges_run;
        })();
  };
  add_edge(lci::GRAPH_START, nodes[0]);
  add_edge(nodes[0], nodes[1]);
  add_edge(nodes[0], nodes[2]);
  add_edge(nodes[1], nodes[3]);
  add_edge(nodes[2], nodes[3]);
  add_edge(nodes[3], lci::GRAPH_END);
  // The value of the start is none; that of the end is the graph's user_context.
  lci::graph_add_edge_x(graph, lci::GRAPH_START, lci::GRAPH_END)
      .fn([](lci::status_t, void* src_value, void* dst_value) {
        EXPECT(src_value == nullptr);
        EXPECT(dst_value != nullptr);
      })();
  for (int round = 1; round <= 3; ++round) {
    visited.clear();
    lci::graph_start(graph);
    lci::status_t status;
    do {
      status = lci::graph_test(graph);
    } while (status.error.is_retry());
    EXPECT(status.is_done());
    EXPECT(status.get_user_context() == &context);
    EXPECT_EQ(visited.size(), 4u);
    EXPECT(visited.front() == 0 && visited.back() == 3);
    EXPECT_EQ(edges_run, 6 * round);
  }
  lci::free_comp(&graph);
  EXPECT_EQ(freed, 4);
}

void test_dummy_and_mark() {
  static std::atomic<lci::graph_node_t> waiting;
  waiting = nullptr;
  lci::comp_t graph = lci::alloc_graph();
  const lci::graph_node_t dummy = lci::graph_add_node(graph, lci::GRAPH_NODE_DUMMY_CB);
  static lci::graph_node_t self;
  self = lci::graph_add_node(graph, [](void*) -> lci::status_t {
    waiting = self;
    return lci::errorcode_t::posted;
  });
  lci::graph_add_edge(graph, lci::GRAPH_START, dummy);
  lci::graph_add_edge(graph, dummy, self);
  lci::graph_add_edge(graph, self, lci::GRAPH_END);
  std::thread other([] {
    while (waiting == nullptr) continue;
    lci::graph_node_mark_complete_x(waiting).status(lci::errorcode_t::done)();
  });
  lci::graph_start(graph);
  while (lci::graph_test(graph).is_retry()) lci::progress();
  other.join();
  lci::free_comp(&graph);
}

// Functors of a program's own.

// Called more than once, and changes itself: operator() is not const.
template <class Result>
struct counting_op_t {
  int* calls;
  void* m_user_context = nullptr;
  int own = 0;

  explicit counting_op_t(int* calls_) : calls(calls_) {}
  void user_context(void* value) { m_user_context = value; }
  Result operator()() {
    EXPECT(m_user_context != nullptr);
    *calls = ++own;
    if constexpr (!std::is_void_v<Result>) return lci::errorcode_t::done;
  }
};

// Completes later, by another thread, which signals the graph with the node as user_context.
struct delayed_op_t {
  std::thread* thread;
  lci::comp_t comp;
  void* m_user_context = nullptr;

  void user_context(void* value) { m_user_context = value; }
  lci::status_t operator()() {
    *thread = std::thread(
        [graph = comp, node = m_user_context] { lci::comp_signal(graph, lci::status_t(node)); });
    return lci::errorcode_t::posted;
  }
};

void test_functors() {
  lci::comp_t graph = lci::alloc_graph();
  int calls[3] = {};
  std::thread thread;
  const lci::graph_node_t nodes[] = {
      lci::graph_add_node_op(graph, counting_op_t<lci::status_t>(&calls[0])),
      lci::graph_add_node_op(graph, counting_op_t<lci::errorcode_t>(&calls[1])),
      lci::graph_add_node_op(graph, counting_op_t<void>(&calls[2])),
      lci::graph_add_node_op(graph, delayed_op_t{&thread, graph}),
  };
  lci::graph_node_t before = lci::GRAPH_START;
  for (const lci::graph_node_t node : nodes) {
    lci::graph_add_edge(graph, before, node);
    before = node;
  }
  lci::graph_add_edge(graph, before, lci::GRAPH_END);
  for (int round = 1; round <= 3; ++round) {
    lci::graph_start(graph);
    while (lci::graph_test(graph).error.is_retry()) lci::progress();
    thread.join();
    for (const int count : calls) EXPECT_EQ(count, round);
  }
  lci::free_comp(&graph);
}

// Operations.

// A barrier by dissemination; the objects are kept, and copied into the nodes.
void test_barrier() {
  const int me = lci::get_rank_me();
  const int n = lci::get_rank_n();
  lci::comp_t graph = lci::alloc_graph();
  lci::graph_node_t before = lci::GRAPH_START;
  for (int jump = 1; jump < n; jump *= 2) {
    auto recv = lci::post_recv_x((me - jump + n) % n, nullptr, 0, 0, graph).allow_retry(false);
    auto send = lci::post_send_x((me + jump) % n, nullptr, 0, 0, graph).allow_retry(false);
    const lci::graph_node_t recv_node = lci::graph_add_node_op(graph, recv);
    const lci::graph_node_t send_node = lci::graph_add_node_op(graph, send);
    lci::graph_node_t after = lci::GRAPH_END;
    if (jump * 2 < n) {
      after = graph_add_node(graph, [](void*) -> lci::status_t { return lci::errorcode_t::done; });
    }
    lci::graph_add_edge(graph, before, recv_node);
    lci::graph_add_edge(graph, before, send_node);
    lci::graph_add_edge(graph, recv_node, after);
    lci::graph_add_edge(graph, send_node, after);
    before = after;
  }
  for (int i = 0; i < 20; ++i) {
    lci::graph_start(graph);
    while (lci::graph_test(graph).is_retry()) lci::progress();
  }
  lci::free_comp(&graph);
}

// Messages of the size of a rendezvous to the neighbor and from the other one, again and again.
void test_exchange() {
  constexpr size_t kBytes = 100000;
  std::vector<char> out = compat::bytes_of(lci::get_rank_me(), kBytes);
  std::vector<char> in(kBytes);
  lci::comp_t graph = lci::alloc_graph();
  const auto send =
      lci::post_send_x(compat::next_rank(), out.data(), kBytes, 3, graph).allow_retry(false);
  const auto recv =
      lci::post_recv_x(compat::previous_rank(), in.data(), kBytes, 3, graph).allow_retry(false);
  const lci::graph_node_t first =
      lci::graph_add_node(graph, [](void*) -> lci::status_t { return lci::errorcode_t::done; });
  for (const lci::graph_node_t node :
       {lci::graph_add_node_op(graph, send), lci::graph_add_node_op(graph, recv)}) {
    lci::graph_add_edge(graph, first, node);
    lci::graph_add_edge(graph, node, lci::GRAPH_END);
  }
  lci::graph_add_edge(graph, lci::GRAPH_START, first);
  for (int i = 0; i < 3; ++i) {
    std::fill(in.begin(), in.end(), 'x');
    lci::graph_start(graph);
    while (lci::graph_test(graph).error.is_retry()) lci::progress();
    EXPECT(compat::are_bytes_of(compat::previous_rank(), in.data(), kBytes));
  }
  lci::free_comp(&graph);
}

// A graph signals a completion object at its end.
void test_comp() {
  int context = 0;
  lci::comp_t sync = lci::alloc_sync();
  lci::comp_t graph = lci::alloc_graph_x().comp(sync).user_context(&context)();
  const lci::graph_node_t node = lci::graph_add_node_op(
      graph, lci::post_recv_x(lci::get_rank_me(), nullptr, 0, 8, graph).allow_retry(false));
  lci::graph_add_edge(graph, lci::GRAPH_START, node);
  lci::graph_add_edge(graph, node, lci::GRAPH_END);
  lci::graph_start(graph);
  EXPECT(!lci::sync_test(sync, nullptr));
  (void)compat::post(lci::post_send_x(lci::get_rank_me(), nullptr, 0, 8, lci::COMP_NULL_RETRY));
  const lci::status_t status = compat::wait(sync);
  EXPECT(status.is_done());
  EXPECT(status.get_user_context() == &context);
  lci::free_comp(&sync);
}

void test() {
  lci::g_runtime_init();
  test_functions();
  test_dummy_and_mark();
  test_functors();
  test_barrier();
  test_exchange();
  test_comp();
  lci::barrier();
  lci::g_runtime_fina();
}

}  // namespace

int main() { return compat::run(test); }
