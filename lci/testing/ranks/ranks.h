// The ranks of a job as threads of a test. Each has its own runtime, made from an in-process
// bootstrap. The default backend joins them, or in the tests with sim_main the simulated network.
#ifndef LCI_TESTING_RANKS_RANKS_H_
#define LCI_TESTING_RANKS_RANKS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "lci/api/lci.hpp"
#include "lci/boot/in_process.h"
#include "lci/net/sim/settings.h"
#include "lci/observe/recorder.h"
#include "lci/runtime/check/checker.h"
#include "lci/runtime/instance/runtime.h"
#include "lci/testing/fail_fast/fail_fast.h"
#include "lci/testing/ranks/deterministic_scheduler.h"
#include "lci/testing/ranks/turn_taking_bootstrap.h"

namespace lci {

inline constexpr std::chrono::seconds patience{120};

// Whether the ranks are joined by the simulated network; set before tests are registered.
inline bool& simulated() {
  static bool is = false;
  return is;
}

// A count or a size: `usual`, or the other one over the simulated network.
template <class Number>
Number less_if_simulated(Number usual, Number simulated_instead) {
  return simulated() ? simulated_instead : usual;
}

inline net::sim::settings sim_settings() { return net::sim::settings::from_environment().value(); }

// A number from 0 to n - 1 that the seed chooses. `what` identifies the choice.
inline size_t seed_choice(uint64_t what, size_t n) {
  uint64_t random = sim_settings().seed * 0x9fb21c651e98df25 + what;
  return net::sim::next_random(&random) % n;
}

// The largest message that a test sends. Over the simulated network, which divides messages into
// pieces of 100 bytes, it lies just beyond all boundaries of the protocols, for half of the seeds.
inline size_t greatest_size() {
  if (!simulated()) return ~size_t{0};
  return seed_choice(0, 2) == 0 ? 9000 : 1000;
}

// A test for a range of numbers of ranks. Runs with every number or, over the simulated network,
// with the one that the seed chooses.
class rank_test : public testing::TestWithParam<std::pair<int, int>> {
 protected:
  static int ranks() {
    const auto [least, greatest] = GetParam();
    return least + static_cast<int>(seed_choice(1, static_cast<size_t>(greatest - least + 1)));
  }
};
inline std::vector<std::pair<int, int>> one_to(int greatest) {
  if (simulated()) return {{1, greatest}};
  std::vector<std::pair<int, int>> each;
  for (int ranks = 1; ranks <= greatest; ++ranks) each.emplace_back(ranks, ranks);
  return each;
}

// Runs body(bootstrap) as every rank of a job, in a thread each. Over the simulated network the
// seed decides the order in which the ranks run, one at a time.
inline void run_ranks(int ranks,
                      const std::function<void(std::unique_ptr<boot::bootstrap>)>& body) {
  const fail_fast guard;
  std::unique_ptr<deterministic_scheduler> scheduler;
  if (simulated()) {
    scheduler =
        std::make_unique<deterministic_scheduler>(sim_settings().seed, static_cast<size_t>(ranks));
  }
  std::vector<std::thread> threads;
  for (auto& boot : boot::make_in_process_job(ranks, patience)) {
    threads.emplace_back([&body, &scheduler, own = std::move(boot)]() mutable {
      if (scheduler == nullptr) {
        body(std::move(own));
        return;
      }
      scheduler->join(static_cast<size_t>(own->rank()));
      body(std::make_unique<turn_taking_bootstrap>(std::move(own)));
      scheduler->leave();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Ends the deterministic order of the ranks. A rank calls it before it starts threads of its own.
inline void end_turns() {
  deterministic_scheduler* const scheduler = deterministic_scheduler::of_this_thread();
  if (scheduler != nullptr) scheduler->end();
}

// Chooses libfabric with the provider LCI_TEST_PROVIDER if LCI_TEST_BACKEND is "ofi", libibverbs if
// it is "ibv", and otherwise the default network of one host.
inline void choose_network(global_attr_t* defaults) {
  if (simulated()) defaults->backend = attr_backend_t::sim;
  const char* const backend = std::getenv("LCI_TEST_BACKEND");
  if (backend == nullptr) return;
  if (std::string(backend) == "ibv") {
    defaults->backend = attr_backend_t::ibv;
    return;
  }
  ASSERT_STREQ(backend, "ofi");
  defaults->backend = attr_backend_t::ofi;
  defaults->ofi_provider_name = std::getenv("LCI_TEST_PROVIDER");
}

// Checks the operations of all ranks of the process if LCI_CHECK is 1; null otherwise.
inline rt::checker* checker_of_tests() {
  const char* const wanted = std::getenv("LCI_CHECK");
  if (wanted == nullptr || std::string(wanted) != "1") return nullptr;
  static rt::checker of_process{rt::checker_options()};
  return &of_process;
}

// Runs body(runtime) as every rank of a job. The ranks end apart: those of a test that loses one,
// or in which the ranks disagree.
inline void run_apart(int ranks, const std::function<void(runtime_t)>& body,
                      const runtime_attr_t& attr = runtime_attr_t(),
                      const global_attr_t& defaults = global_attr_t()) {
  global_attr_t all = defaults;
  choose_network(&all);
  run_ranks(ranks, [&](std::unique_ptr<boot::bootstrap> boot) {
    // On the heap: the address sanitizer aligns the stack to less than the runtime needs.
    const auto runtime = std::make_unique<runtime_impl_t>(
        std::move(boot), attr, all, observe::event_sink(), checker_of_tests());
    body(runtime.get());
  });
}

// The same, and destroys the runtimes together.
inline void run_job(int ranks, const std::function<void(runtime_t)>& body,
                    const runtime_attr_t& attr = runtime_attr_t(),
                    const global_attr_t& defaults = global_attr_t()) {
  run_apart(
      ranks,
      [&body](runtime_t runtime) {
        body(runtime);
        rt::checker* const checks = runtime.p_impl->checks();
        if (checks != nullptr) checks->report_end_of(runtime.p_impl);
        wait_drained_x().runtime(runtime)();
        barrier_x().runtime(runtime)();
      },
      attr, defaults);
  if (checker_of_tests() != nullptr) {
    EXPECT_EQ(checker_of_tests()->mistakes(), 0U) << "LCI_CHECK: see the log";
  }
}

inline int rank_of(runtime_t runtime) { return runtime.p_impl->rank(); }
inline int size_of(runtime_t runtime) { return runtime.p_impl->size(); }

// Posts until the answer is not a retry: a network may refuse at any time.
template <class Op>
status_t accepted(const Op& op) {
  for (;;) {
    const status_t status = op();
    if (!status.is_retry()) return status;
    progress_x().runtime(op.get_runtime()).device(op.get_device())();
  }
}

// Calls progress until it throws, which may take until a message arrives. Returns the error text.
template <class Exception>
std::string progress_until_throw(runtime_t runtime) {
  for (int i = 0; i < 1000000; ++i) {
    try {
      progress_x().runtime(runtime)();
    } catch (const Exception& error) {
      return error.what();
    }
  }
  ADD_FAILURE() << "progress did not throw";
  return std::string();
}

// The text of the exception that run() ends with; empty: it throws none. Exceptions of other
// classes pass.
template <class Error = std::exception, class Run>
std::string error_of(const Run& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}
#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

// Makes progress until there is a status in the completion queue.
inline status_t pop_from(runtime_t runtime, comp_t queue) {
  for (;;) {
    const status_t status = cq_pop_x(queue).runtime(runtime)();
    if (!status.is_retry()) return status;
    progress_x().runtime(runtime)();
  }
}

// Byte i of a message from `rank` with `tag`.
inline unsigned char pattern(int rank, tag_t tag, size_t i) {
  return static_cast<unsigned char>(static_cast<size_t>(rank) * 31 + tag * 7 + i);
}

inline std::vector<unsigned char> make_message(int rank, tag_t tag, size_t size) {
  std::vector<unsigned char> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = pattern(rank, tag, i);
  return bytes;
}

// One rank of a test, with short names for frequent calls.
struct rank_under_test {
  explicit rank_under_test(runtime_t owner)
      : runtime(owner),
        rank(rank_of(owner)),
        ranks(size_of(owner)),
        to((rank + 1) % ranks),
        from((rank + ranks - 1) % ranks),
        sync(alloc_sync_x().runtime(owner)()),
        queue(alloc_cq_x().runtime(owner)()),
        rcomp(register_rcomp_x(queue).runtime(owner)()) {
    meet();
  }
  ~rank_under_test() {
    free_comp_x{&sync}.runtime(runtime)();
    free_comp_x{&queue}.runtime(runtime)();
  }

  void meet() { barrier_x().runtime(runtime)(); }
  // The final status of an operation with `sync` as its completion object.
  status_t end_of(const status_t& posted) {
    EXPECT_FALSE(posted.is_retry()) << "post with accepted()";
    if (!posted.is_posted()) return posted;
    status_t status;
    sync_wait_x(sync, &status).runtime(runtime)();
    return status;
  }
  status_t pop() { return pop_from(runtime, queue); }
  std::vector<rmr_t> exchange(mr_t mr) {
    std::vector<rmr_t> all(static_cast<size_t>(ranks));
    const rmr_t own = get_rmr_x(mr).runtime(runtime)();
    allgather_x(&own, all.data(), sizeof(own)).runtime(runtime)();
    return all;
  }
  post_send_x send(std::vector<unsigned char>& bytes, tag_t tag) const {
    return post_send_x(to, bytes.data(), bytes.size(), tag, sync).runtime(runtime);
  }
  post_recv_x receive(std::vector<unsigned char>& room, tag_t tag) const {
    return post_recv_x(from, room.data(), room.size(), tag, sync).runtime(runtime);
  }

  const runtime_t runtime;
  const int rank, ranks, to, from;
  comp_t sync;
  comp_t queue;
  const rcomp_t rcomp;
};

inline void run(int ranks, const std::function<void(rank_under_test&)>& body,
                const global_attr_t& defaults = global_attr_t(),
                const runtime_attr_t& attr = runtime_attr_t()) {
  run_job(
      ranks,
      [&body](runtime_t runtime) {
        rank_under_test self(runtime);
        body(self);
        wait_drained_x().runtime(runtime)();
        self.meet();
      },
      attr, defaults);
}

}  // namespace lci

#endif  // LCI_TESTING_RANKS_RANKS_H_
