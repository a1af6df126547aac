#include "benchmarks/lci2/pairs.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "benchmarks/lci2/completions.h"
#include "benchmarks/lci2/endpoint.h"
#include "benchmarks/lci2/threads.h"
#include "lci.hpp"

namespace lci2 {
namespace {

// By thread. Handlers find their endpoint by the tag.
std::vector<std::unique_ptr<endpoint>> endpoints;

// Of a message that this rank sent.
void handle_local(lci::status_t status) {
  if (!status.is_done()) fail("an operation failed");
  static_cast<completions*>(status.user_context)->signal();
}
void handle_message(lci::status_t status) {
  endpoints[status.tag >> slot_bits]->handle_message(status);
}
void handle_credit(lci::status_t status) {
  endpoints[status.tag & 0xffff]->add_credits(status.tag >> 16);
  std::free(status.buffer);
}
void handle_finish(lci::status_t status) {
  endpoints[status.tag & 0xffff]->add_finish();
  std::free(status.buffer);
}

// The value of each rank, in the order of the ranks.
template <class T>
std::array<T, 2> of_both(T own) {
  std::array<T, 2> all;
  lci::allgather(&own, all.data(), sizeof(own));
  return all;
}

class measurement {
 public:
  measurement(const options& chosen, size_t seed)
      : options_(chosen),
        processors_(usable_processors()),
        all_threads_((ranks_share_host() ? 2 : 1) * chosen.threads),
        first_thread_(all_threads_ > chosen.threads ? lci::get_rank_me() * chosen.threads : 0),
        barrier_(chosen.threads),
        on_local_(lci::alloc_handler(handle_local)),
        on_message_(lci::alloc_handler(handle_message)),
        on_credit_(lci::alloc_handler(handle_credit)),
        on_finish_(lci::alloc_handler(handle_finish)),
        job_{chosen, lci::get_rank_me(), 1 - lci::get_rank_me(), seed, on_local_, on_message_, 0, 0,
             0},
        results_(static_cast<size_t>(chosen.threads)) {
    endpoints.resize(results_.size());
    // Devices of two ranks are paired by the order of their allocation, so one thread allocates
    // them all.
    if (!chosen.own_devices || chosen.threads == 1) return;
    for (int thread = 0; thread < chosen.threads; ++thread) devices_.push_back(lci::alloc_device());
  }
  ~measurement() {
    lci::barrier();  // the other rank may use memory of this one until it has come here
    endpoints.clear();
    for (lci::device_t& device : devices_) lci::free_device(&device);
    for (lci::comp_t* one : {&on_local_, &on_message_, &on_credit_, &on_finish_}) {
      lci::free_comp(one);
    }
  }
  measurement(const measurement&) = delete;
  measurement& operator=(const measurement&) = delete;

  void run() {
    std::vector<std::thread> others;
    for (int thread = 1; thread < options_.threads; ++thread) {
      others.emplace_back([this, thread] { run_thread(thread); });
    }
    run_thread(0);
    for (std::thread& other : others) other.join();
  }

 private:
  void run_thread(int thread) {
    try {
      if (options_.bind) bind_thread(processors_, first_thread_ + thread, all_threads_);
      const auto at = static_cast<size_t>(thread);
      const bool owns_device = !devices_.empty();
      const lci::device_t device = owns_device ? devices_[at] : lci::get_default_device();
      endpoints[at] = std::make_unique<endpoint>(job_, thread, device, owns_device);
      meet(thread, [this] { connect(); });
      for (const size_t size : options_.sizes) measure(thread, size);
    } catch (const std::exception& error) {
      fail(error.what());
    }
  }

  // All threads of both ranks; meanwhile thread 0 calls a function.
  template <class Function>
  void meet(int thread, const Function& function) {
    barrier_.wait();
    if (thread == 0) {
      function();
      lci::barrier();
    }
    barrier_.wait();
  }
  void meet(int thread) {
    meet(thread, [] {});
  }

  // Makes names and memory known to the other rank. Both ranks register in the same order, so the
  // names are the same.
  void connect() {
    const size_t count = endpoints.size();
    std::vector<lci::rmr_t> own;
    for (const std::unique_ptr<endpoint>& one : endpoints) {
      const lci::rcomp_t name = lci::register_rcomp(
          options_.completion == completion_kind::queue ? one->arrival_object() : on_message_);
      if (own.empty()) job_.message_names = name;
      own.push_back(one->rmr());
    }
    job_.credit_name = lci::register_rcomp(on_credit_);
    job_.finish_name = lci::register_rcomp(on_finish_);
    std::vector<lci::rmr_t> everybody(2 * count);
    lci::allgather(own.data(), everybody.data(), count * sizeof(lci::rmr_t));
    const size_t first = count * static_cast<size_t>(job_.peer);
    for (size_t i = 0; i < count; ++i) endpoints[i]->set_peer_rmr(everybody[first + i]);
  }

  void measure(int thread, size_t size) {
    const auto at = static_cast<size_t>(thread);
    endpoint& own = *endpoints[at];
    const auto in_messages = [this](uint64_t iterations) {
      return iterations * static_cast<uint64_t>(options_.window);
    };
    const uint64_t n = in_messages(iterations_for(options_, size));
    own.set_size(size);
    meet(thread);
    const uint64_t checked = own.check(options_.checked_rounds);
    thread_result unused;
    run_once(thread, in_messages(warmup_for(options_, size)), false, &unused);
    run_once(thread, n, false, &results_[at].whole);
    thread_result sampled;
    if (options_.test == test_kind::latency) run_once(thread, n, true, &sampled);
    results_[at].checked = checked;
    results_[at].round_trips = std::move(sampled.round_trips);
    meet(thread, [&] { report(size, n); });
  }

  void run_once(int thread, uint64_t n, bool samples, thread_result* result) {
    endpoint& own = *endpoints[static_cast<size_t>(thread)];
    own.prepare(n);
    meet(thread);
    own.run(n, samples, result);
  }

  struct figures {
    size_t size = 0;
    uint64_t iterations = 0;
    uint64_t messages = 0;
    uint64_t checked = 0;
    double messages_per_s = 0;
    double latency_us_mean = 0;
    double latency_us_p50 = 0;
  };

  // Brings the results of all threads of both ranks together, and prints them.
  void report(size_t size, uint64_t n) {
    struct totals {
      double longest;  // microseconds
      double times;    // the sum of those of all threads
      uint64_t messages;
      uint64_t checked;
    };
    totals own = {};
    double begin = results_[0].whole.begin;
    double end = results_[0].whole.end;
    std::vector<double> round_trips;
    for (const results& one : results_) {
      begin = std::min(begin, one.whole.begin);
      end = std::max(end, one.whole.end);
      own.times += one.whole.end - one.whole.begin;
      own.messages += one.whole.messages;
      own.checked += one.checked;
      round_trips.insert(round_trips.end(), one.round_trips.begin(), one.round_trips.end());
    }
    own.longest = end - begin;
    const std::array<totals, 2> both = of_both(own);
    if (job_.rank != 0) return;
    figures found;
    found.size = size;
    found.iterations = n / static_cast<uint64_t>(options_.window);
    found.messages = both[0].messages + both[1].messages;
    found.checked = both[0].checked + both[1].checked;
    const double seconds = std::max(both[0].longest, both[1].longest) / 1e6;
    found.messages_per_s = static_cast<double>(found.messages) / seconds;
    if (options_.test == test_kind::latency) {
      const double runs = 2.0 * static_cast<double>(options_.threads);
      found.latency_us_mean = (both[0].times + both[1].times) / runs / static_cast<double>(2 * n);
      const auto middle = round_trips.begin() + static_cast<std::ptrdiff_t>(round_trips.size() / 2);
      std::nth_element(round_trips.begin(), middle, round_trips.end());
      found.latency_us_p50 = *middle / 2;
    }
    print(found);
  }

  void print(const figures& found) {
    const bool has_latency = options_.test == test_kind::latency;
    const double bytes_per_s = found.messages_per_s * static_cast<double>(found.size);
    if (options_.json) {
      std::printf(
          R"({"op": "%s", "test": "%s", "size": %zu, "threads": %d, "devices": "%s", )"
          R"("ranks": 2, "completion": "%s", "window": %d, "iterations": %llu, "bind": "%s", )"
          R"("messages": %llu, "checked": %llu, )",
          name_of(options_.op), name_of(options_.test), found.size, options_.threads,
          options_.own_devices ? "dedicated" : "shared", name_of(options_.completion),
          options_.window, static_cast<unsigned long long>(found.iterations),
          options_.bind ? "core" : "none", static_cast<unsigned long long>(found.messages),
          static_cast<unsigned long long>(found.checked));
      if (has_latency) {
        std::printf(R"("latency_us_mean": %.6g, "latency_us_p50": %.6g, )", found.latency_us_mean,
                    found.latency_us_p50);
      }
      std::printf(R"("messages_per_s": %.1f, "bytes_per_s": %.1f})"
                  "\n",
                  found.messages_per_s, bytes_per_s);
    } else {
      if (!std::exchange(has_header_, true)) {
        std::printf("# lci2_pairs: %s of %s, completion %s, %d threads, %s devices, window %d\n",
                    name_of(options_.test), name_of(options_.op), name_of(options_.completion),
                    options_.threads, options_.own_devices ? "dedicated" : "shared",
                    options_.window);
        std::printf("# %-8s%12s%12s%16s%16s\n", "Size", "Mean, us", "Median, us", "Messages/s",
                    "Bytes/s");
      }
      const std::string mean = has_latency ? std::to_string(found.latency_us_mean) : "-";
      const std::string median = has_latency ? std::to_string(found.latency_us_p50) : "-";
      std::printf("%-10zu%12s%12s%16.0f%16.0f\n", found.size, mean.c_str(), median.c_str(),
                  found.messages_per_s, bytes_per_s);
    }
    std::fflush(stdout);
  }

  struct results {
    thread_result whole;
    std::vector<double> round_trips;
    uint64_t checked = 0;
  };

  const options& options_;
  const std::vector<int> processors_;
  const int all_threads_;   // on this host
  const int first_thread_;  // of this rank, among them
  thread_barrier barrier_;
  lci::comp_t on_local_;
  lci::comp_t on_message_;
  lci::comp_t on_credit_;
  lci::comp_t on_finish_;
  job job_;
  std::vector<results> results_;        // of each thread of this rank
  std::vector<lci::device_t> devices_;  // the same; empty: all threads share one
  bool has_header_ = false;
};

// Why this job can't be measured; empty: it can. The same in all ranks.
std::string problem_of_job(const options& chosen) {
  const int ranks = lci::get_rank_n();
  if (ranks != 2) {
    return "started with " + std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks") +
           ", but it measures two: lcrun -n 2 lci2_pairs";
  }
  const std::array<size_t, 2> options_of = of_both(std::hash<std::string>()(describe(chosen)));
  return options_of[0] == options_of[1] ? "" : "the ranks were started with different options";
}

// Rank 0 prints, and the other ranks exit after it.
void print_and_meet(std::FILE* to, const std::string& text) {
  if (lci::get_rank_me() == 0) {
    std::fputs(text.c_str(), to);
    std::fflush(to);
  }
  lci::barrier();
}

}  // namespace

int run_main(const std::function<int()>& body) {
  try {
    return body();
  } catch (const lci::cli::usage_error& error) {
    lci::g_runtime_init();
    print_and_meet(stderr, std::string("lci2_pairs: ") + error.what() + "\n");
    lci::g_runtime_fina();
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lci2_pairs: %s\n", error.what());
    return EXIT_FAILURE;
  }
}

int print_once(const std::string& text) {
  lci::g_runtime_init();
  print_and_meet(stdout, text);
  lci::g_runtime_fina();
  return 0;
}

int run_pairs(const options& chosen, bool seed_of_rank) {
  lci::g_runtime_init();
  const std::string problem = problem_of_job(chosen);
  if (problem.empty()) {
    const int seed = seed_of_rank ? lci::get_rank_me() : 0;
    measurement(chosen, static_cast<size_t>(seed)).run();
  } else {
    print_and_meet(stderr, "lci2_pairs: " + problem + "\n");
  }
  lci::g_runtime_fina();
  return problem.empty() ? 0 : 2;
}

}  // namespace lci2
