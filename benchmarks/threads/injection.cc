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
#include "lci/base/backoff.h"

namespace perf {
namespace {

constexpr const char* program = "uccs_injection";
constexpr size_t message_size = 4;

// Callbacks in this thread.
thread_local uint64_t callbacks = 0;

void on_message(lci::status_t) { ++callbacks; }

// The counts of the threads of a receiving rank, over all runs.
struct alignas(64) thread_count {
  std::atomic<uint64_t> callbacks{0};
};

// The results of a rank, for each run that counts.
struct measured {
  std::vector<uint64_t> nanoseconds;  // one each, of who sends (alone: of taking)
  std::vector<uint64_t> callbacks;    // one for each thread, of who receives
};

// One number of threads.
class injection {
 public:
  // names: two numbers for completion objects, the same in all ranks.
  injection(const injection_options& chosen, const job& the_job, int threads, lci::rcomp_t names,
            const standing* bound)
      : options_(chosen),
        device_(the_job.device_of(0)),
        sends_(!chosen.alone && the_job.is_initiator()),
        to_(chosen.alone ? the_job.rank() : the_job.peer()),
        message_name_(names),
        answer_name_(names + 1),
        handler_(lci::alloc_handler_x(on_message).lend_am(true)()),
        answers_(lci::alloc_counter()),
        counts_(new thread_count[static_cast<size_t>(threads)]),
        before_(static_cast<size_t>(threads)),
        team_(the_job, sends_ ? 1 : threads, bound) {
    lci::register_rcomp_x(handler_).rcomp(message_name_)();
    lci::register_rcomp_x(answers_).rcomp(answer_name_)();
    // This thread, which is thread 0, may have been here with fewer others. The sender begins
    // behind the barrier, and the first messages may arrive inside of it.
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

  measured measure() {
    team_.run([this](int thread) {
      if (sends_) {
        send();
      } else if (!options_.alone) {
        receive(static_cast<size_t>(thread));
      } else if (thread == 0) {
        fill_and_take();
      } else {
        take(static_cast<size_t>(thread));
      }
    });
    lci::barrier();
    return result_;
  }

 private:
  void progress() const { lci::progress_x().device(device_)(); }

  template <class Post>
  void post(Post post_once) const {
    while (post_once().is_retry()) progress();
  }
  auto message(char* bytes) const {
    return lci::post_am_x(to_, bytes, message_size, lci::COMP_NULL_RETRY, message_name_)
        .device(device_);
  }

  // Threads that send.

  void send() {
    char bytes[message_size] = {};
    for (int64_t run = -options_.warmup; run < options_.runs; ++run) {
      const uint64_t begin = now();
      for (uint64_t i = 0; i < options_.messages; ++i) post(message(bytes));
      while (lci::counter_get(answers_) <= run + options_.warmup) progress();
      if (run >= 0) result_.nanoseconds.push_back(now() - begin);
    }
  }

  // Threads that receive.

  // The count of a thread, as far as it has reported it to the others.
  class own_count {
   public:
    own_count(injection& all, size_t thread)
        : all_(all), thread_(thread), first_(thread == 0 ? all.first_ : 0), counted_(first_) {}

    // Callbacks of all threads, if this one has had some since the last call; else 0.
    uint64_t count() {
      const uint64_t more = callbacks - counted_;
      if (more == 0) return 0;
      counted_ = callbacks;
      all_.counts_[thread_].callbacks.store(counted_ - first_, std::memory_order_relaxed);
      // Release and acquire: who completes a run sees what all threads have counted.
      return all_.total_.fetch_add(more, std::memory_order_acq_rel) + more;
    }

   private:
    injection& all_;
    const size_t thread_;
    const uint64_t first_;
    uint64_t counted_;
  };

  void receive(size_t thread) {
    own_count own(*this, thread);
    while (!over_.load(std::memory_order_acquire)) {
      progress();
      const uint64_t all = own.count();
      if (all == 0 || all % options_.messages != 0) continue;
      // Nothing comes before the answer is sent.
      const bool last = end_run();
      // Another thread may complete the next run. The messages in between order its end_run behind
      // this one, but the thread sanitizer does not see what happens in other processes.
      total_.fetch_add(0, std::memory_order_release);
      post(lci::post_am_x(to_, nullptr, 0, lci::COMP_NULL_RETRY, answer_name_).device(device_));
      if (last) over_.store(true, std::memory_order_release);
    }
  }

  // In a thread that sees what all have counted. True if it was the last one.
  bool end_run() {
    const bool counts = ended_ >= options_.warmup;
    for (size_t thread = 0; thread < before_.size(); ++thread) {
      const uint64_t now = counts_[thread].callbacks.load(std::memory_order_relaxed);
      if (counts) result_.callbacks.push_back(now - before_[thread]);
      before_[thread] = now;
    }
    return ++ended_ == options_.warmup + options_.runs;
  }

  // Alone.

  // Thread 0: sends as much as there is room for, which then all threads take.
  void fill_and_take() {
    own_count own(*this, 0);
    char bytes[message_size] = {};
    const auto others = static_cast<uint64_t>(before_.size() - 1);
    for (bool last = false; !last;) {
      uint64_t taking = 0;
      for (uint64_t left = options_.messages; left > 0;) {
        uint64_t sent = 0;
        while (sent < left && !message(bytes)().is_retry()) ++sent;
        left -= sent;
        sent_ += sent;
        const uint64_t begin = now();
        const uint64_t round = rounds_.fetch_add(1, std::memory_order_release) + 1;
        take_all(&own);
        taking += now() - begin;
        lci::base::backoff backoff;
        while (at_end_.load(std::memory_order_acquire) != others * round) backoff.idle();
      }
      if (ended_ >= options_.warmup) result_.nanoseconds.push_back(taking);
      last = end_run();
    }
    over_.store(true, std::memory_order_relaxed);
    rounds_.fetch_add(1, std::memory_order_release);
  }

  void take(size_t thread) {
    own_count own(*this, thread);
    for (uint64_t round = 1;; ++round) {
      lci::base::backoff backoff;
      while (rounds_.load(std::memory_order_acquire) < round) backoff.idle();
      if (over_.load(std::memory_order_relaxed)) return;
      take_all(&own);
      at_end_.fetch_add(1, std::memory_order_release);
    }
  }

  void take_all(own_count* own) {
    while (total_.load(std::memory_order_relaxed) < sent_) {
      progress();
      own->count();
    }
  }

  const injection_options& options_;
  const lci::device_t device_;
  const bool sends_;
  const int to_;
  const lci::rcomp_t message_name_;
  const lci::rcomp_t answer_name_;
  lci::comp_t handler_;
  lci::comp_t answers_;
  std::unique_ptr<thread_count[]> counts_;
  uint64_t first_ = 0;  // callbacks of thread 0 before
  measured result_;
  // Of the thread that ends a run; the answer and the messages of the next run order these.
  std::vector<uint64_t> before_;
  int64_t ended_ = 0;
  // Alone; of thread 0, for all while they take.
  uint64_t sent_ = 0;
  alignas(64) std::atomic<uint64_t> total_{0};  // callbacks of all threads and runs
  alignas(64) std::atomic<bool> over_{false};
  alignas(64) std::atomic<uint64_t> rounds_{0};  // alone: of taking, that have begun
  alignas(64) std::atomic<uint64_t> at_end_{0};  // threads, in all rounds
  team team_;
};

struct found {
  spread rate;  // messages per second of a pair
  spread callbacks;
  std::vector<spread> of_threads;
};

found summed_up(const injection_options& chosen, int threads, measured own) {
  const auto ranks = static_cast<size_t>(lci::get_rank_n());
  const auto runs = static_cast<size_t>(chosen.runs);
  const auto of_run = static_cast<size_t>(threads) + 1;
  own.nanoseconds.resize(runs);
  own.callbacks.resize(runs * static_cast<size_t>(threads));
  std::vector<uint64_t> row = own.nanoseconds;
  row.insert(row.end(), own.callbacks.begin(), own.callbacks.end());
  std::vector<uint64_t> all(row.size() * ranks);
  lci::allgather(row.data(), all.data(), row.size() * sizeof(uint64_t));
  found result;
  result.of_threads.resize(static_cast<size_t>(threads));
  for (size_t rank = 0; rank < ranks; ++rank) {
    const uint64_t* const nanoseconds = &all[rank * of_run * runs];
    const uint64_t* const counts = nanoseconds + runs;
    const bool sends = chosen.alone || rank < ranks / 2;
    const bool receives = chosen.alone || rank >= ranks / 2;
    for (size_t run = 0; sends && run < runs; ++run) {
      result.rate.add(static_cast<double>(chosen.messages) * 1e9 /
                      static_cast<double>(std::max<uint64_t>(1, nanoseconds[run])));
    }
    for (size_t i = 0; receives && i < own.callbacks.size(); ++i) {
      result.of_threads[i % result.of_threads.size()].add(static_cast<double>(counts[i]));
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
      {"alone", chosen.alone ? "true" : "false", false},
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
      lci::get_rank_n(), chosen.alone ? " ranks, alone, bind " : " ranks, bind ",
      name_of(chosen.bind), "\n# CPU ", processor_name(), "\n",
      absl::StrFormat("%-9s %35s %53s\n", "#", "million messages/s",
                      "callbacks of a thread in a run"),
      absl::StrFormat("%-9s %8s %8s %8s %8s %12s %10s %10s %10s %9s\n", "# Threads", "Mean", "Min",
                      "Max", "Dev.", "Mean", "Min", "Max", "Dev.", "Dev."));
}

void measure(const injection_options& chosen) {
  const job the_job(lci::get_g_runtime(), 1);
  const bool prints = lci::get_rank_me() == 0;
  const bool is_json = chosen.format == output_format::json;
  if (prints && !is_json) std::fputs(text_header(chosen).c_str(), stdout);
  for (const int threads : chosen.threads) {
    const standing row = find_standing(threads);
    // Not on the stack, which the address sanitizer aligns for less than it needs.
    const auto one = std::make_unique<injection>(chosen, the_job, threads, lci::reserve_rcomps(2),
                                                 chosen.bind == binding::core ? &row : nullptr);
    const found result = summed_up(chosen, threads, one->measure());
    if (!prints) continue;
    std::fputs((is_json ? json(chosen, threads, result) : text(threads, result)).c_str(), stdout);
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace perf

int main(int argc, char** argv) {
  return perf::run_main(perf::program, [&] {
    lci::cli::request wanted;
    const perf::injection_options chosen = perf::parse_injection(argc, argv, &wanted);
    if (wanted == lci::cli::request::help) {
      return perf::say_once(perf::program, perf::injection_help(), "");
    }
    return perf::run_program(
        perf::program, chosen.backend, perf::describe(chosen), [&chosen] { perf::measure(chosen); },
        !chosen.alone);
  });
}
