// When tests of completion objects give the processor away.
#include "lci/runtime/device/vain_tests.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/base/poll_backoff.h"
#include "lci/testing/ranks/ranks.h"

namespace lci {
namespace {

constexpr int many = 20 * static_cast<int>(base::poll_backoff::polls_alone);
// Of these, more than a stopped thread or two can explain.
constexpr uint32_t some_yields = 10;

uint32_t yields() { return rt::thread_tests::own.yields(); }

void run_alone(const std::function<void(rank_under_test&)>& body) { run(1, body); }

// One object of each kind, which nobody signals.
struct objects {
  explicit objects(const rank_under_test& self)
      : runtime(self.runtime),
        queue(alloc_cq_x().runtime(runtime)()),
        sync(alloc_sync_x().runtime(runtime)()),
        counter(alloc_counter_x().runtime(runtime)()),
        signal(alloc_signal_x(1).runtime(runtime)()),
        graph(alloc_graph_x().runtime(runtime)()) {
    // A node that is never complete.
    const graph_node_t node =
        graph_add_node_x(graph, [](void*) { return status_t(errorcode_t::posted); })();
    graph_add_edge_x(graph, GRAPH_START, node)();
    graph_add_edge_x(graph, node, GRAPH_END)();
    graph_start(graph);
    waiting = node;
  }
  ~objects() {
    graph_node_mark_complete(waiting);
    EXPECT_TRUE(graph_test_x(graph)().is_done());
    for (comp_t* each : {&queue, &sync, &counter, &signal, &graph}) {
      free_comp_x{each}.runtime(runtime)();
    }
  }

  runtime_t runtime;
  comp_t queue, sync, counter, signal, graph;
  graph_node_t waiting = nullptr;

  // A test of each, by name.
  std::vector<std::pair<const char*, std::function<void()>>> tests() const {
    return {
        {"cq_pop", [this] { EXPECT_TRUE(cq_pop(queue).is_retry()); }},
        {"sync_test", [this] { EXPECT_FALSE(sync_test(sync, nullptr)); }},
        {"counter_get", [this] { EXPECT_EQ(counter_get(counter), 0); }},
        {"signal_test", [this] { EXPECT_FALSE(signal_test(signal)); }},
        {"graph_test", [this] { EXPECT_TRUE(graph_test(graph).is_retry()); }},
    };
  }
};

TEST(VainTests, ManyOfThemYield) {
  run_alone([](rank_under_test& self) {
    const objects made(self);
    for (const auto& [name, test] : made.tests()) {
      SCOPED_TRACE(name);
      const uint32_t before = yields();
      while (yields() - before < some_yields) test();
    }
  });
}

// Of a message that nobody takes, the network has room for some.
TEST(VainTests, RefusedPostsYield) {
  run_alone([](rank_under_test& self) {
    comp_t counter = alloc_counter_x().runtime(self.runtime)();
    const rcomp_t name = register_rcomp_x(counter).runtime(self.runtime)();
    int64_t posted = 0;
    const auto post = [&] {
      const status_t status =
          post_am_x(self.rank, nullptr, 0, COMP_NULL_RETRY, name).runtime(self.runtime)();
      if (!status.is_retry()) ++posted;
    };
    const uint32_t before = yields();
    while (yields() - before < some_yields) post();
    EXPECT_GT(posted, 0);
    while (counter_get(counter) < posted) progress_x().runtime(self.runtime)();
    deregister_rcomp_x(name).runtime(self.runtime)();
    free_comp_x{&counter}.runtime(self.runtime)();
  });
}

// Its polls yield.
TEST(VainTests, DoNotCountWhereTheThreadPolls) {
  run_alone([](rank_under_test& self) {
    const objects made(self);
    for (const auto& [name, test] : made.tests()) {
      SCOPED_TRACE(name);
      progress_x().runtime(self.runtime)();
      test();
      const uint32_t before = yields();
      for (int i = 0; i < many; ++i) {
        progress_x().runtime(self.runtime)();
        test();
      }
      EXPECT_EQ(yields(), before);
    }
  });
}

// Polls that find something each time are polls.
TEST(VainTests, DoNotCountWhereThePollsOfTheThreadMove) {
  run_alone([](rank_under_test& self) {
    const objects made(self);
    comp_t others = alloc_counter_x().runtime(self.runtime)();
    const rcomp_t name = register_rcomp_x(others).runtime(self.runtime)();
    const uint32_t before = yields();
    for (int i = 0; i < many; ++i) {
      static_cast<void>(
          accepted(post_am_x(self.rank, nullptr, 0, COMP_NULL_RETRY, name).runtime(self.runtime)));
      while (!progress_x().runtime(self.runtime)().is_done()) {
      }
      EXPECT_TRUE(cq_pop(made.queue).is_retry());
    }
    EXPECT_EQ(yields(), before);
    deregister_rcomp_x(name).runtime(self.runtime)();
    free_comp_x{&others}.runtime(self.runtime)();
  });
}

// As a scheduler does that tests once after each task.
TEST(VainTests, DoNotYieldBetweenTasks) {
  run_alone([](rank_under_test& self) {
    const objects made(self);
    const uint32_t before = yields();
    for (int i = 0; i < many; ++i) {
      EXPECT_TRUE(cq_pop(made.queue).is_retry());
      const auto end = std::chrono::steady_clock::now() + 20 * base::poll_backoff::least_work;
      while (std::chrono::steady_clock::now() < end) {
      }
    }
    EXPECT_LT(yields() - before, some_yields);
  });
}

// The same of a signal, which is no status that the thread takes.
TEST(VainTests, DoNotYieldWhileASignalComesOftenEnough) {
  run_alone([](rank_under_test& self) {
    const objects made(self);
    const uint32_t before = yields();
    for (int i = 0; i < many; ++i) {
      for (uint32_t j = 0; j + 2 < base::poll_backoff::polls_alone; ++j) {
        EXPECT_FALSE(signal_test(made.signal));
      }
      comp_signal(made.signal, status_t(errorcode_t::done));
      EXPECT_TRUE(signal_test(made.signal));
      signal_reset(made.signal);
    }
    EXPECT_LT(yields() - before, some_yields);
  });
}

// What is found ends the waiting.
TEST(VainTests, DoNotYieldWhileSomethingIsFoundOftenEnough) {
  run_alone([](rank_under_test& self) {
    const objects made(self);
    const uint32_t before = yields();
    for (int i = 0; i < many; ++i) {
      for (uint32_t j = 0; j + 2 < base::poll_backoff::polls_alone; ++j) {
        EXPECT_TRUE(cq_pop(made.queue).is_retry());
      }
      comp_signal(made.queue, status_t(errorcode_t::done));
      EXPECT_TRUE(cq_pop(made.queue).is_done());
    }
    // (Where other threads wait for the processor, many short waits end with a yield, too.)
    static_assert(many * base::poll_backoff::polls_alone <
                  (some_yields - 2) * base::poll_backoff::most_polls_between_yields);
    EXPECT_LT(yields() - before, some_yields);
  });
}

TEST(VainTests, DoNotYieldWhereTheDefaultForbidsIt) {
  run_alone([](rank_under_test& self) {
    const objects made(self);
    const uint32_t before = yields();
    rt::vain_tests::allow_yields(false);
    for (int i = 0; i < many; ++i) EXPECT_TRUE(cq_pop(made.queue).is_retry());
    EXPECT_EQ(yields(), before);
    rt::vain_tests::allow_yields(true);
    while (yields() == before) EXPECT_TRUE(cq_pop(made.queue).is_retry());
  });
}

TEST(VainTests, DoNotYieldInsideOfAHandler) {
  run_alone([](rank_under_test& self) {
    const objects made(self);
    static comp_t tested;
    static std::atomic<int> called;
    tested = made.queue;
    called = 0;
    comp_t handler = alloc_handler_x([](status_t) {
                       const uint32_t before = yields();
                       for (int i = 0; i < many; ++i) EXPECT_TRUE(cq_pop(tested).is_retry());
                       EXPECT_EQ(yields(), before);
                       ++called;
                     })
                         .lend_am(true)
                         .runtime(self.runtime)();
    const rcomp_t name = register_rcomp_x(handler).runtime(self.runtime)();
    static_cast<void>(
        accepted(post_am_x(self.rank, nullptr, 0, COMP_NULL_RETRY, name).runtime(self.runtime)));
    while (called == 0) progress_x().runtime(self.runtime)();
    deregister_rcomp_x(name).runtime(self.runtime)();
    free_comp_x{&handler}.runtime(self.runtime)();
  });
}

}  // namespace
}  // namespace lci
