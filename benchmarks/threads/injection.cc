// uccs_injection: how fast active messages are injected into a rank of several threads.
//   lcrun -n 2 uccs_injection --help
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "benchmarks/perf/binding.h"
#include "benchmarks/perf/clock.h"
#include "benchmarks/perf/fields.h"
#include "benchmarks/perf/job.h"
#include "benchmarks/perf/program.h"
#include "benchmarks/perf/team.h"
#include "benchmarks/threads/options.h"
#include "benchmarks/threads/spread.h"
#include "lci.hpp"

namespace perf {
namespace {

constexpr const char* program = "uccs_injection";
constexpr size_t message_size = 4;

// Callbacks in this thread.
thread_local uint64_t callbacks = 0;

void on_message(lci::status_t) { ++callbacks; }

// What the threads of a rank that receives have counted, of all runs.
struct alignas(64) thread_count {
  std::atomic<uint64_t> callbacks{0};
};

// One number of threads.
class injection {
 public:
  // names: two numbers for completion objects, the same in all ranks.
  injection(const injection_options& chosen, const job& the_job, int threads, lci::rcomp_t names,
            const standing* bound)
      : options_(chosen),
        job_(the_job),
        threads_(threads),
        message_name_(names),
        answer_name_(names + 1),
        handler_(lci::alloc_handler_x(on_message).lend_am(true)()),
        answers_(lci::alloc_counter()),
        counts_(new thread_count[static_cast<size_t>(threads)]),
        before_(static_cast<size_t>(threads)),
        team_(the_job, the_job.is_initiator() ? 1 : threads, bound) {
    lci::register_rcomp_x(handler_).rcomp(message_name_)();
    lci::register_rcomp_x(answers_).rcomp(answer_name_)();
    // This thread, which is thread 0, may have been here with fewer others. The sender begins
    // behind the barrier, inside of which the first messages may arrive.
    first_ = callbacks;
    lci::barrier();
  }
  ~injection() {
    lci::deregister_rcomp(message_name_);
    lci::deregister_rcomp(answer_name_);
    lci::free_comp(&handler_);
    lci::free_comp(&answers_);
  }
  injection(const injection&) = delete;
  injection& operator=(const injection&) = delete;

  // For each run that counts, and after each other: of a sender its nanoseconds, of a receiver the
  // callbacks of each thread. As many numbers in all ranks.
  std::vector<uint64_t> measure() {
    team_.run([this](int thread) {
      if (job_.is_initiator()) {
        send();
      } else {
        receive(static_cast<size_t>(thread));
      }
    });
    results_.resize(static_cast<size_t>(options_.runs) * static_cast<size_t>(threads_));
    lci::barrier();
    return results_;
  }

 private:
  bool progress() const { return lci::progress_x().device(job_.device_of(0))().is_done(); }

  template <class Post>
  void post(Post post_once) const {
    waiter patience;
    while (post_once().is_retry()) patience.after(progress());
  }

  void send() {
    char message[message_size] = {};
    for (int64_t run = -options_.warmup; run < options_.runs; ++run) {
      const uint64_t begin = now();
      for (uint64_t i = 0; i < options_.messages; ++i) {
        post(lci::post_am_x(job_.peer(), message, message_size, lci::COMP_NULL_RETRY, message_name_)
                 .device(job_.device_of(0)));
      }
      waiter patience;
      while (lci::counter_get(answers_) <= run + options_.warmup) patience.after(progress());
      if (run >= 0) results_.push_back(now() - begin);
    }
  }

  void receive(size_t thread) {
    const uint64_t first = thread == 0 ? first_ : 0;
    uint64_t told = first;
    waiter patience;
    while (!over_.load(std::memory_order_acquire)) {
      const bool moved = progress();
      patience.after(moved);
      const uint64_t more = callbacks - told;
      if (more == 0) continue;
      told = callbacks;
      counts_[thread].callbacks.store(told - first, std::memory_order_relaxed);
      // Release and acquire: who completes a run sees what all threads have counted.
      const uint64_t all = total_.fetch_add(more, std::memory_order_acq_rel) + more;
      if (all % options_.messages == 0) end_run();
    }
  }

  // In the thread that found the run to be over: nothing comes before the answer is sent.
  void end_run() {
    const bool counts = ended_ >= options_.warmup;
    for (size_t thread = 0; thread < before_.size(); ++thread) {
      const uint64_t now = counts_[thread].callbacks.load(std::memory_order_relaxed);
      if (counts) results_.push_back(now - before_[thread]);
      before_[thread] = now;
    }
    const bool last = ++ended_ == options_.warmup + options_.runs;
    post(lci::post_am_x(job_.peer(), nullptr, 0, lci::COMP_NULL_RETRY, answer_name_)
             .device(job_.device_of(0)));
    if (last) over_.store(true, std::memory_order_release);
  }

  const injection_options& options_;
  const job& job_;
  const int threads_;
  const lci::rcomp_t message_name_;
  const lci::rcomp_t answer_name_;
  lci::comp_t handler_;
  lci::comp_t answers_;
  std::unique_ptr<thread_count[]> counts_;
  uint64_t first_ = 0;
  // Of the thread that ends a run; the answer and the messages of the next run order these.
  std::vector<uint64_t> before_;
  std::vector<uint64_t> results_;
  int64_t ended_ = 0;
  alignas(64) std::atomic<uint64_t> total_{0};  // callbacks of all threads and runs
  alignas(64) std::atomic<bool> over_{false};
  team team_;
};

struct found {
  spread rate;  // messages per second of a pair
  spread callbacks;
  std::vector<spread> of_threads;
};

found summed_up(const injection_options& chosen, int threads, const std::vector<uint64_t>& own) {
  const auto ranks = static_cast<size_t>(lci::get_rank_n());
  std::vector<uint64_t> all(own.size() * ranks);
  lci::allgather(own.data(), all.data(), own.size() * sizeof(uint64_t));
  found result;
  result.of_threads.resize(static_cast<size_t>(threads));
  for (size_t rank = 0; rank < ranks; ++rank) {
    const uint64_t* const of_rank = &all[rank * own.size()];
    if (rank < ranks / 2) {
      for (int run = 0; run < chosen.runs; ++run) {
        result.rate.add(static_cast<double>(chosen.messages) * 1e9 /
                        static_cast<double>(std::max<uint64_t>(1, of_rank[run])));
      }
      continue;
    }
    for (size_t i = 0; i < own.size(); ++i) {
      result.of_threads[i % result.of_threads.size()].add(static_cast<double>(of_rank[i]));
    }
  }
  for (const spread& one : result.of_threads) result.callbacks.add(one);
  return result;
}

std::string number(double value) { return absl::StrFormat("%.10g", value); }

std::string list(const std::vector<spread>& all, double (spread::*figure)() const) {
  return absl::StrCat("[",
                      absl::StrJoin(all, ", ",
                                    [figure](std::string* out, const spread& one) {
                                      absl::StrAppend(out, number((one.*figure)()));
                                    }),
                      "]");
}

std::string json(const injection_options& chosen, int threads, const found& result) {
  return json_line({
      {"benchmark", program, true},
      {"threads", absl::StrCat(threads), false},
      {"ranks", absl::StrCat(lci::get_rank_n()), false},
      {"backend", name_of(lci::get_default_net_context().get_attr_backend()), true},
      {"bind", name_of(chosen.bind), true},
      {"size", absl::StrCat(message_size), false},
      {"messages", absl::StrCat(chosen.messages), false},
      {"runs", absl::StrCat(chosen.runs), false},
      {"messages_per_s_mean", number(result.rate.mean()), false},
      {"messages_per_s_min", number(result.rate.min()), false},
      {"messages_per_s_max", number(result.rate.max()), false},
      {"messages_per_s_deviation", number(result.rate.standard_deviation()), false},
      {"callbacks_mean", number(result.callbacks.mean()), false},
      {"callbacks_min", number(result.callbacks.min()), false},
      {"callbacks_max", number(result.callbacks.max()), false},
      {"callbacks_deviation", number(result.callbacks.standard_deviation()), false},
      {"callbacks_relative_deviation", number(result.callbacks.relative_deviation()), false},
      {"thread_mean", list(result.of_threads, &spread::mean), false},
      {"thread_min", list(result.of_threads, &spread::min), false},
      {"thread_max", list(result.of_threads, &spread::max), false},
      {"thread_deviation", list(result.of_threads, &spread::standard_deviation), false},
      {"processor", processor_name(), true},
  });
}

std::string text(int threads, const found& result) {
  const auto row = [](const spread& one) {
    return absl::StrFormat("%12.0f %10.0f %10.0f %10.0f %7.1f %%\n", one.mean(), one.min(),
                           one.max(), one.standard_deviation(), 100 * one.relative_deviation());
  };
  std::string lines = absl::StrFormat(
      "%-9d %8.2f %8.2f %8.2f %8.2f ", threads, result.rate.mean() / 1e6, result.rate.min() / 1e6,
      result.rate.max() / 1e6, result.rate.standard_deviation() / 1e6);
  absl::StrAppend(&lines, row(result.callbacks));
  for (size_t i = 0; threads > 1 && i < result.of_threads.size(); ++i) {
    absl::StrAppend(&lines, absl::StrFormat("%45s ", absl::StrCat("thread ", i)),
                    row(result.of_threads[i]));
  }
  return lines;
}

std::string text_header(const injection_options& chosen) {
  return absl::StrCat(
      "# ", program, ": ", chosen.runs, " runs of ", chosen.messages, " messages of ", message_size,
      " bytes, backend ", name_of(lci::get_default_net_context().get_attr_backend()), ", ",
      lci::get_rank_n(), " ranks, bind ", name_of(chosen.bind), "\n# CPU ", processor_name(), "\n",
      absl::StrFormat("%-9s %35s %53s\n", "#", "million messages/s",
                      "callbacks of a thread in a run"),
      absl::StrFormat("%-9s %8s %8s %8s %8s %12s %10s %10s %10s %9s\n", "# Threads", "Mean", "Min",
                      "Max", "Dev.", "Mean", "Min", "Max", "Dev.", "Dev."));
}

void measure(const injection_options& chosen) {
  const job the_job(lci::get_g_runtime(), 1);
  const bool tells = lci::get_rank_me() == 0;
  const bool is_json = chosen.format == output_format::json;
  if (tells && !is_json) std::fputs(text_header(chosen).c_str(), stdout);
  for (const int threads : chosen.threads) {
    const standing row = find_standing(threads);
    injection one(chosen, the_job, threads, lci::reserve_rcomps(2),
                  chosen.bind == binding::core ? &row : nullptr);
    const found result = summed_up(chosen, threads, one.measure());
    if (!tells) continue;
    std::fputs((is_json ? json(chosen, threads, result) : text(threads, result)).c_str(), stdout);
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace perf

int main(int argc, char** argv) {
  return perf::run_main(perf::program, [&] {
    bool help = false;
    const perf::injection_options chosen = perf::parse_injection(argc, argv, &help);
    if (help) return perf::say_once(perf::program, perf::injection_help(), "");
    return perf::run_program(perf::program, chosen.backend, perf::describe(chosen),
                             [&chosen] { perf::measure(chosen); });
  });
}
