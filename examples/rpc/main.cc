// Several threads of every rank call functions on all ranks and check what comes back.
//   lcrun -n 4 rpc [threads [calls]]
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "examples/rpc/rpc.h"

namespace {

// Functions that are called.

std::atomic<int64_t> visits{0};  // of this rank

void visit() { ++visits; }

int64_t sum(const std::vector<int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), int64_t{0});
}

std::string greet(const std::string& name, int from) {
  return "hello " + name + " of rank " + std::to_string(from) + ", this is rank " +
         std::to_string(rpc::rank_me());
}

int half(int even) {
  if (even % 2 != 0) throw std::runtime_error(std::to_string(even) + " is odd");
  return even / 2;
}

int64_t visits_so_far() { return visits; }

// Goes around the ranks: each calls the next and waits for it.
rpc::function<int(int)>* remote_walk = nullptr;
int walk(int steps) {
  if (steps == 0) return 0;
  return 1 + remote_walk->call((rpc::rank_me() + 1) % rpc::rank_n(), steps - 1).get();
}

// Program that calls them.

struct functions {
  rpc::function<void()> visit;
  rpc::function<int64_t(const std::vector<int64_t>&)> sum;
  rpc::function<std::string(const std::string&, int)> greet;
  rpc::function<int(int)> half;
  rpc::function<int64_t()> visits_so_far;
  rpc::function<int(int)> walk;
};

// The error, if any. Any thread may set it.
std::mutex complaint_mutex;
std::vector<std::string> complaints;
void check(bool good, const std::string& what) {
  if (good) return;
  const std::lock_guard<std::mutex> lock(complaint_mutex);
  complaints.push_back(what);
}

void call_one_rank(const functions& remote, int thread, int to, int number) {
  // All under way at the same time. The long one does not travel by copy.
  std::vector<int64_t> values(number % 50 == 0 ? 20000 : 3, number);
  const int64_t expected = sum(values);
  const std::string name = "thread " + std::to_string(thread);
  rpc::future<void> visited = remote.visit.call(to);
  rpc::future<int64_t> total = remote.sum.call(to, values);
  rpc::future<std::string> greeting = remote.greet.call(to, name, rpc::rank_me());
  rpc::future<int> halved = remote.half.call(to, number);

  visited.get();
  check(total.get() == expected, "a wrong sum");
  const std::string text = greeting.get();
  check(text == "hello " + name + " of rank " + std::to_string(rpc::rank_me()) + ", this is rank " +
                    std::to_string(to),
        "a wrong greeting: " + text);
  try {
    check(halved.get() == number / 2 && number % 2 == 0, "a wrong half");
  } catch (const rpc::remote_error& error) {
    const std::string reason =
        "on rank " + std::to_string(to) + ": " + std::to_string(number) + " is odd";
    check(number % 2 != 0 && error.what() == reason, error.what());
  }
}

void run_thread(const functions& remote, int thread, int calls) {
  const rpc::thread_scope scope;
  for (int number = 0; number < calls; ++number) {
    for (int i = 0; i < rpc::rank_n(); ++i) {
      call_one_rank(remote, thread, (rpc::rank_me() + i) % rpc::rank_n(), number);
    }
  }
  const int steps = 2 * rpc::rank_n() + 1;
  check(remote.walk.call((rpc::rank_me() + 1) % rpc::rank_n(), steps).get() == steps,
        "a walk of the wrong length");
}

// All threads' scopes, then one by one: what everybody has done can be seen only by a second round.
void run_round(int threads, const std::function<void(int)>& body) {
  std::vector<std::thread> others;
  std::exception_ptr failure;
  std::mutex mutex;
  const auto guarded = [&](int thread) {
    try {
      body(thread);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      if (failure == nullptr) failure = std::current_exception();
    }
  };
  for (int thread = 1; thread < threads; ++thread) others.emplace_back(guarded, thread);
  guarded(0);
  for (std::thread& other : others) other.join();
  if (failure != nullptr) std::rethrow_exception(failure);
}

int run(int threads, int calls) {
  rpc::start(threads);
  const functions remote = {rpc::register_function(visit),         rpc::register_function(sum),
                            rpc::register_function(greet),         rpc::register_function(half),
                            rpc::register_function(visits_so_far), rpc::register_function(walk)};
  rpc::function<int(int)> walk_copy = remote.walk;
  remote_walk = &walk_copy;

  const auto begin = std::chrono::steady_clock::now();
  run_round(threads, [&](int thread) { run_thread(remote, thread, calls); });
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;

  const int64_t expected_visits = int64_t{calls} * threads * rpc::rank_n();
  run_round(threads, [&](int thread) {
    const rpc::thread_scope scope;
    if (thread != 0) return;
    for (int rank = 0; rank < rpc::rank_n(); ++rank) {
      const int64_t seen = remote.visits_so_far.call(rank).get();
      check(seen == expected_visits, "rank " + std::to_string(rank) + " was visited " +
                                         std::to_string(seen) + " times, not " +
                                         std::to_string(expected_visits));
    }
  });

  for (const std::string& complaint : complaints) {
    std::fprintf(stderr, "rpc: rank %d: %s\n", rpc::rank_me(), complaint.c_str());
  }
  if (rpc::rank_me() == 0 && complaints.empty()) {
    const double all = 4.0 * static_cast<double>(expected_visits) * rpc::rank_n();
    std::printf("%d ranks of %d threads made %.0f calls in %.2f s, %.2f us each in every thread\n",
                rpc::rank_n(), threads, all, taken.count(),
                taken.count() * 1e6 * threads * rpc::rank_n() / all);
    std::fflush(stdout);
  }
  rpc::stop();
  return complaints.empty() ? EXIT_SUCCESS : EXIT_FAILURE;
}

// The positive number `text`; `otherwise` if it is null. 0 if it is none.
int positive(const char* text, int otherwise) {
  if (text == nullptr) return otherwise;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  return *end == 0 && value > 0 && value <= 1000000 ? static_cast<int>(value) : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = positive(argc > 1 ? argv[1] : nullptr, 2);
  const int calls = positive(argc > 2 ? argv[2] : nullptr, 1000);
  if (threads == 0 || calls == 0 || argc > 3) {
    std::fprintf(stderr, "usage: rpc [threads [calls]], both at least 1\n");
    return 2;
  }
  try {
    return run(threads, calls);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rpc: %s\n", error.what());
    std::fflush(nullptr);
    // Ending LCI properly would take the ranks that are gone.
    std::_Exit(EXIT_FAILURE);
  }
}
