#include "lci/runtime/completion/graph.h"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/testing/ranks/ranks.h"

namespace lci {
namespace {

void on_one_rank(const std::function<void(runtime_t)>& body) { run_job(1, body); }

comp_t make_graph(runtime_t runtime, comp_t comp = COMP_NULL) {
  return alloc_graph_x().comp(comp).name("the graph").runtime(runtime)();
}
void free_graph(comp_t graph, runtime_t runtime) { free_comp_x{&graph}.runtime(runtime)(); }

// A node that writes its letter.
struct letter {
  char name;
  std::string* word;
};
status_t write_letter(void* value) {
  auto* it = static_cast<letter*>(value);
  it->word->push_back(it->name);
  return errorcode_t::done;
}
status_t post_only(void*) { return errorcode_t::posted; }

TEST(Graph, RunsInTheOrderOfItsEdgesAsOftenAsItIsStarted) {
  on_one_rank([](runtime_t runtime) {
    std::string word;
    letter letters[] = {{'a', &word}, {'b', &word}, {'c', &word}, {'d', &word}};
    comp_t graph = make_graph(runtime);
    std::vector<graph_node_t> nodes;
    for (letter& each : letters) {
      nodes.push_back(graph_add_node_x(graph, write_letter).value(&each).runtime(runtime)());
    }
    // a before b and c, both before d.
    graph_add_edge(graph, GRAPH_START, nodes[0]);
    graph_add_edge(graph, nodes[0], nodes[1]);
    graph_add_edge(graph, nodes[0], nodes[2]);
    graph_add_edge(graph, nodes[1], nodes[3]);
    graph_add_edge(graph, nodes[2], nodes[3]);
    graph_add_edge(graph, nodes[3], GRAPH_END);
    for (int round = 0; round < 3; ++round) {
      word.clear();
      graph_start(graph);
      EXPECT_TRUE(graph_test(graph).is_done());
      ASSERT_EQ(word.size(), 4u);
      EXPECT_EQ(word.front(), 'a');
      EXPECT_EQ(word.back(), 'd');
    }
    free_graph(graph, runtime);
  });
}

TEST(Graph, WaitsForNodesThatArePosted) {
  on_one_rank([](runtime_t runtime) {
    std::string word;
    letter last{'z', &word};
    comp_t counter = alloc_counter_x().runtime(runtime)();
    comp_t graph = make_graph(runtime, counter);
    const graph_node_t first = graph_add_node(graph, post_only);
    const graph_node_t second = graph_add_node(graph, post_only);
    const graph_node_t end = graph_add_node_x(graph, write_letter).value(&last).runtime(runtime)();
    for (graph_node_t each : {first, second}) {
      graph_add_edge(graph, GRAPH_START, each);
      graph_add_edge(graph, each, end);
    }
    graph_add_edge(graph, end, GRAPH_END);
    graph_start(graph);
    EXPECT_THROW(graph_start(graph), std::logic_error) << "it is running";
    comp_t copy = graph;
    EXPECT_THROW(free_comp_x{&copy}.runtime(runtime)(), std::logic_error);
    EXPECT_TRUE(graph_test(graph).is_retry());
    graph_node_mark_complete(first);
    EXPECT_TRUE(graph_test(graph).is_retry());
    EXPECT_EQ(word, "");
    // As an operation would.
    status_t status = errorcode_t::done;
    status.user_context = second;
    comp_signal_x(graph, status).runtime(runtime)();
    EXPECT_EQ(word, "z");
    EXPECT_TRUE(graph_test(graph).is_done());
    EXPECT_EQ(counter_get_x(counter).runtime(runtime)(), 1);
    free_graph(graph, runtime);
    free_comp_x{&counter}.runtime(runtime)();
  });
}

TEST(Graph, EdgesSeeTheStatusAndBothValues) {
  on_one_rank([](runtime_t runtime) {
    struct seen_t {
      size_t size = 0;
      void* src = nullptr;
    };
    seen_t seen;
    int source = 0;
    comp_t graph = make_graph(runtime);
    const graph_node_t first = graph_add_node_x(graph, post_only).value(&source).runtime(runtime)();
    const graph_node_t second =
        graph_add_node_x(graph, GRAPH_NODE_DUMMY_CB).value(&seen).runtime(runtime)();
    graph_add_edge(graph, GRAPH_START, first);
    graph_add_edge_x(graph, first, second)
        .fn([](status_t status, void* src, void* dst) {
          *static_cast<seen_t*>(dst) = {status.size, src};
        })
        .runtime(runtime)();
    graph_add_edge(graph, second, GRAPH_END);
    graph_start(graph);
    status_t status = errorcode_t::done;
    status.size = 42;
    graph_node_mark_complete_x(first).status(status).runtime(runtime)();
    EXPECT_TRUE(graph_test(graph).is_done());
    EXPECT_EQ(seen.size, 42u);
    EXPECT_EQ(seen.src, &source);
    free_graph(graph, runtime);
  });
}

TEST(Graph, RunsANodeAgainThatSaysRetry) {
  on_one_rank([](runtime_t runtime) {
    int tries = 0;
    comp_t graph = make_graph(runtime);
    const graph_node_t node = graph_add_node_x(graph,
                                               [](void* value) -> status_t {
                                                 return ++*static_cast<int*>(value) < 4
                                                            ? errorcode_t::retry
                                                            : errorcode_t::done;
                                               })
                                  .value(&tries)
                                  .runtime(runtime)();
    graph_add_edge(graph, GRAPH_START, node);
    graph_add_edge(graph, node, GRAPH_END);
    graph_start(graph);
    EXPECT_EQ(tries, 1);
    EXPECT_TRUE(graph_test(graph).is_retry());
    EXPECT_TRUE(graph_test(graph).is_retry());
    EXPECT_TRUE(graph_test(graph).is_done());
    EXPECT_EQ(tries, 4);
    free_graph(graph, runtime);
  });
}

TEST(Graph, ANodeThatFailsOrThrowsEndsIt) {
  on_one_rank([](runtime_t runtime) {
    for (bool throws : {false, true}) {
      std::string word;
      letter after{'x', &word};
      comp_t counter = alloc_counter_x().runtime(runtime)();
      comp_t graph = make_graph(runtime, counter);
      const graph_node_t invalid = graph_add_node(
          graph,
          throws ? [](void*) -> status_t { throw std::runtime_error("on purpose"); }
                 : [](void*) -> status_t { return errorcode_t::fatal; });
      const graph_node_t next =
          graph_add_node_x(graph, write_letter).value(&after).runtime(runtime)();
      const graph_node_t other = graph_add_node(graph, post_only);
      // The one whose edge was added last begins first.
      graph_add_edge(graph, GRAPH_START, invalid);
      graph_add_edge(graph, GRAPH_START, other);
      graph_add_edge(graph, invalid, next);
      graph_add_edge(graph, next, GRAPH_END);
      graph_add_edge(graph, other, GRAPH_END);
      graph_start(graph);
      EXPECT_TRUE(graph_test(graph).is_retry()) << "the posted node is still under way";
      graph_node_mark_complete(other);
      EXPECT_EQ(graph_test(graph).error.errorcode, errorcode_t::fatal);
      EXPECT_THROW(graph_node_mark_complete(other), std::logic_error) << "a second time";
      EXPECT_EQ(word, "");
      EXPECT_EQ(counter_get_x(counter).runtime(runtime)(), 1);
      free_graph(graph, runtime);
      free_comp_x{&counter}.runtime(runtime)();
    }
  });
}

TEST(Graph, FreesTheValuesOfItsNodes) {
  on_one_rank([](runtime_t runtime) {
    int freed = 0;
    comp_t graph = make_graph(runtime);
    for (int i = 0; i < 3; ++i) {
      graph_add_node_x(graph, nullptr)
          .value(&freed)
          .free_cb([](void* value) { ++*static_cast<int*>(value); })
          .runtime(runtime)();
    }
    free_graph(graph, runtime);
    EXPECT_EQ(freed, 3);
  });
}

TEST(Graph, WithoutAnEdgeToItsEndItIsCompleteWhenNoNodeRuns) {
  on_one_rank([](runtime_t runtime) {
    comp_t counter = alloc_counter_x().runtime(runtime)();
    comp_t graph = make_graph(runtime, counter);
    EXPECT_TRUE(graph_test(graph).is_retry()) << "it has not begun";
    graph_start(graph);
    EXPECT_TRUE(graph_test(graph).is_done()) << "it is empty";
    EXPECT_EQ(counter_get(counter), 1);
    const graph_node_t waits =
        graph_add_node(graph, [](void*) -> status_t { return errorcode_t::posted; });
    graph_add_edge(graph, GRAPH_START, waits);
    graph_start(graph);
    EXPECT_TRUE(graph_test(graph).is_retry());
    graph_node_mark_complete(waits);
    EXPECT_TRUE(graph_test(graph).is_done());
    EXPECT_EQ(counter_get(counter), 2);
    free_graph(graph, runtime);
    free_comp_x{&counter}.runtime(runtime)();
  });
}

// An operation of the program's own: not const, and with answers of each kind.
template <class Answer>
struct counting_op {
  int* calls;
  Answer answer;
  graph_node_t node = nullptr;
  void user_context(void* value) { node = value; }
  Answer operator()() {
    ++*calls;
    return answer;
  }
};

TEST(Graph, OperationsOfTheProgramAreNodes) {
  on_one_rank([](runtime_t runtime) {
    comp_t graph = make_graph(runtime);
    int calls = 0;
    const graph_node_t nodes[] = {
        graph_add_node_op(graph, counting_op<status_t>{&calls, errorcode_t::done}),
        graph_add_node_op(graph, counting_op<errorcode_t>{&calls, errorcode_t::done}),
        graph_add_node_op(graph, counting_op<error_t>{&calls, errorcode_t::done}),
        graph_add_node_op(graph, counting_op<int>{&calls, 7})};
    for (graph_node_t node : nodes) {
      graph_add_edge(graph, GRAPH_START, node);
      graph_add_edge(graph, node, GRAPH_END);
    }
    const graph_node_t posted =
        graph_add_node_op(graph, counting_op<error_t>{&calls, errorcode_t::posted});
    graph_add_edge(graph, GRAPH_START, posted);
    graph_add_edge(graph, posted, GRAPH_END);
    graph_start(graph);
    EXPECT_EQ(calls, 5);
    EXPECT_TRUE(graph_test(graph).is_retry()) << "the last one was only posted";
    comp_signal(graph, status_t(posted));
    EXPECT_TRUE(graph_test(graph).is_done());
    free_graph(graph, runtime);
  });
}

TEST(Graph, MistakesAreNamed) {
  on_one_rank([](runtime_t runtime) {
    comp_t graph = make_graph(runtime);
    comp_t other = make_graph(runtime);
    const graph_node_t a = graph_add_node(graph, nullptr);
    const graph_node_t b = graph_add_node(graph, nullptr);
    const graph_node_t foreign = graph_add_node(other, nullptr);
    EXPECT_THROW(graph_add_edge(graph, a, foreign), std::invalid_argument);
    EXPECT_THROW(graph_add_edge(graph, a, nullptr), std::invalid_argument);
    EXPECT_THROW(graph_add_edge(graph, a, GRAPH_START), std::invalid_argument);
    EXPECT_THROW(graph_add_edge(graph, GRAPH_END, a), std::invalid_argument);
    EXPECT_THROW(graph_node_mark_complete(GRAPH_END), std::invalid_argument);
    EXPECT_THROW(graph_node_mark_complete(a), std::logic_error) << "it does not run";
    graph_add_edge(graph, GRAPH_START, a);
    graph_add_edge(graph, a, GRAPH_END);
    graph_add_edge(graph, b, GRAPH_END);
    EXPECT_THROW(graph_start(graph), std::logic_error) << "nothing starts b";
    graph_add_edge(graph, a, b);
    graph_add_edge(graph, b, a);
    EXPECT_THROW(graph_start(graph), std::logic_error) << "a cycle";
    comp_t counter = alloc_counter_x().runtime(runtime)();
    EXPECT_THROW(graph_start(counter), std::invalid_argument);
    free_graph(graph, runtime);
    free_graph(other, runtime);
    free_comp_x{&counter}.runtime(runtime)();
  });
}

TEST(Graph, NodesThatNeverRunAreNamed) {
  on_one_rank([](runtime_t runtime) {
    comp_t graph = make_graph(runtime);
    std::string word;
    letter a = {'a', &word};
    letter b = {'b', &word};
    const graph_node_t first = graph_add_node_x(graph, write_letter).value(&a)();
    const graph_node_t second = graph_add_node_x(graph, write_letter).value(&b)();
    graph_add_edge(graph, first, second);
    try {
      graph_start(graph);
      ADD_FAILURE() << "no node runs";
    } catch (const std::logic_error& error) {
      EXPECT_STREQ(error.what(),
                   "lci: graph_start: graph \"the graph\" has 2 nodes, none of which would run: no "
                   "edge leads from GRAPH_START to one that waits for nothing else");
    }
    graph_add_edge(graph, GRAPH_START, second);  // it waits for the first, too
    EXPECT_THROW(graph_start(graph), std::logic_error);

    const auto start = [&] {
      testing::internal::CaptureStderr();
      graph_start(graph);
      return testing::internal::GetCapturedStderr();
    };
    graph_add_edge(graph, GRAPH_START, first);
    EXPECT_EQ(start(), "");
    EXPECT_EQ(word, "ab");
    graph_add_node(graph, post_only);
    EXPECT_THAT(start(), testing::HasSubstr("graph_start: 1 of the 3 nodes of graph \"the graph\" "
                                            "never run: "));
    EXPECT_TRUE(graph_test(graph).is_done());
    EXPECT_EQ(word, "abab");
    EXPECT_EQ(start(), "") << "once";
    free_graph(graph, runtime);
  });
}

TEST(Graph, AnOperationThatIsNoNodeIsFreed) {
  on_one_rank([](runtime_t) {
    auto owned = std::make_shared<int>(1);
    struct owner {
      std::shared_ptr<int> value;
      void user_context(void*) {}
      void operator()() const {}
    };
    EXPECT_THROW(graph_add_node_op(COMP_NULL, owner{owned}), std::invalid_argument);
    EXPECT_EQ(owned.use_count(), 1);
  });
}

TEST(Graph, AChainOfManyNodesIsNoDeepRecursion) {
  const int nodes = less_if_simulated(200000, 1000);
  on_one_rank([nodes](runtime_t runtime) {
    int count = 0;
    comp_t graph = make_graph(runtime);
    graph_node_t last = GRAPH_START;
    for (int i = 0; i < nodes; ++i) {
      const graph_node_t next = graph_add_node_x(graph,
                                                 [](void* value) -> status_t {
                                                   ++*static_cast<int*>(value);
                                                   return errorcode_t::done;
                                                 })
                                    .value(&count)
                                    .runtime(runtime)();
      graph_add_edge(graph, last, next);
      last = next;
    }
    graph_add_edge(graph, last, GRAPH_END);
    graph_start(graph);
    EXPECT_TRUE(graph_test(graph).is_done());
    EXPECT_EQ(count, nodes);
    free_graph(graph, runtime);
  });
}

TEST(Graph, OperationsAreNodes) {
  for (int ranks : {1, 2, 4}) {
    run_job(ranks, [](runtime_t runtime) {
      const int n = size_of(runtime);
      const int to = (rank_of(runtime) + 1) % n;
      const int from = (rank_of(runtime) + n - 1) % n;
      for (size_t size : {size_t{8}, less_if_simulated<size_t>(50000, 9000)}) {
        auto bytes = make_message(rank_of(runtime), 1, size);
        std::vector<unsigned char> room(size), answer(size);
        comp_t done = alloc_counter_x().runtime(runtime)();
        comp_t graph = make_graph(runtime, done);
        // Receives, and sends back what came.
        const auto receive = graph_add_node_op(
            graph, post_recv_x(from, room.data(), size, 1, graph).runtime(runtime));
        const auto send = graph_add_node_op(
            graph,
            post_send_x(to, bytes.data(), size, 1, graph).runtime(runtime).allow_retry(false));
        const auto echo = graph_add_node_op(
            graph,
            post_send_x(from, room.data(), size, 2, graph).runtime(runtime).allow_retry(false));
        const auto back = graph_add_node_op(
            graph, post_recv_x(to, answer.data(), size, 2, graph).runtime(runtime));
        for (graph_node_t first : {receive, send, back}) graph_add_edge(graph, GRAPH_START, first);
        graph_add_edge(graph, receive, echo);
        for (graph_node_t last : {send, echo, back}) graph_add_edge(graph, last, GRAPH_END);
        for (int64_t round = 1; round <= 5; ++round) {
          std::fill(answer.begin(), answer.end(), static_cast<unsigned char>(0));
          graph_start_x(graph).runtime(runtime)();
          while (counter_get_x(done).runtime(runtime)() < round) progress_x().runtime(runtime)();
          EXPECT_TRUE(graph_test(graph).is_done());
          EXPECT_EQ(room, make_message(from, 1, size));
          EXPECT_EQ(answer, bytes);
        }
        free_graph(graph, runtime);
        free_comp_x{&done}.runtime(runtime)();
      }
    });
  }
}

// Nodes of random graphs are completed by other threads, in any order; each runs once, after all
// that come before it.
TEST(Graph, ManyThreadsCompleteItsNodes) {
  on_one_rank([](runtime_t runtime) {
    constexpr size_t nodes = 60;
    const int rounds = less_if_simulated(40, 2);
    struct work {
      std::mutex mutex;
      std::vector<graph_node_t> posted;
    };
    struct item {
      work* all;
      graph_node_t node = nullptr;
      std::vector<item*> before;
      std::atomic<int> runs{0};
      std::atomic<bool> wrong{false};
      bool completes_inline = false;
    };
    work all;
    std::atomic<bool> stop{false};
    std::vector<std::thread> completers;
    for (int t = 0; t < 4; ++t) {
      completers.emplace_back([&] {
        while (!stop) {
          graph_node_t next = nullptr;
          {
            const std::lock_guard<std::mutex> guard(all.mutex);
            if (!all.posted.empty()) {
              next = all.posted.back();
              all.posted.pop_back();
            }
          }
          if (next != nullptr) {
            graph_node_mark_complete(next);
          } else {
            std::this_thread::yield();
          }
        }
      });
    }
    uint64_t random = 7;
    const auto pick = [&random](size_t n) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      return static_cast<size_t>(random >> 33) % n;
    };
    comp_t graph = make_graph(runtime);
    std::vector<item> items(nodes);
    for (size_t i = 0; i < nodes; ++i) {
      items[i].all = &all;
      items[i].completes_inline = pick(3) == 0;
      items[i].node = graph_add_node_x(graph,
                                       [](void* value) -> status_t {
                                         auto* it = static_cast<item*>(value);
                                         const int run = ++it->runs;
                                         for (item* each : it->before) {
                                           if (each->runs != run) it->wrong = true;
                                         }
                                         if (it->completes_inline) return errorcode_t::done;
                                         const std::lock_guard<std::mutex> guard(it->all->mutex);
                                         it->all->posted.push_back(it->node);
                                         return errorcode_t::posted;
                                       })
                          .value(&items[i])
                          .runtime(runtime)();
      if (i < 5) {
        graph_add_edge(graph, GRAPH_START, items[i].node);
      } else {
        for (int e = 0; e < 3; ++e) {
          item* earlier = &items[pick(i)];
          items[i].before.push_back(earlier);
          graph_add_edge(graph, earlier->node, items[i].node);
        }
      }
      graph_add_edge(graph, items[i].node, GRAPH_END);
    }
    for (int round = 1; round <= rounds; ++round) {
      graph_start(graph);
      while (graph_test(graph).is_retry()) std::this_thread::yield();
      for (const item& each : items) ASSERT_EQ(each.runs, round);
    }
    stop = true;
    for (std::thread& each : completers) each.join();
    for (const item& each : items) EXPECT_FALSE(each.wrong);
    free_graph(graph, runtime);
  });
}

}  // namespace
}  // namespace lci
