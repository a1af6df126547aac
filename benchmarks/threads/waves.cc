// uccs_waves: puts or gets in both directions, in waves, from several threads.
//   lcrun -n 2 uccs_waves --help
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "benchmarks/perf/binding.h"
#include "benchmarks/perf/clock.h"
#include "benchmarks/perf/fields.h"
#include "benchmarks/perf/job.h"
#include "benchmarks/perf/open_memory.h"
#include "benchmarks/perf/program.h"
#include "benchmarks/perf/team.h"
#include "benchmarks/threads/options.h"
#include "lci.hpp"

namespace perf {
namespace {

constexpr const char* program = "uccs_waves";
constexpr size_t pong_size = 4;

size_t rounded_up(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

// The results for a size and a number of threads.
struct result {
  uint64_t waves = 0;
  uint64_t landed = 0;  // pings that all ranks have seen, in waves that count
  uint64_t bytes = 0;
  double seconds = 0;
};

// One number of threads, of each rank, which all make waves; one more answers.
class waves {
 public:
  // name: a number for a completion object, the same in all ranks.
  waves(const waves_options& chosen, const job& the_job, int threads, lci::rcomp_t name,
        const standing* bound)
      : options_(chosen),
        job_(the_job),
        threads_(threads),
        pings_(threads * chosen.pings),
        gets_(chosen.op == operation::get),
        stride_(rounded_up(chosen.sizes.back(), 64)),
        landing_(rounded_up(stride_ * static_cast<size_t>(pings_), open_memory::page)),
        memory_(memory_kind::registered, 2 * landing_, the_job.runtime(), the_job.device_of(0)),
        pong_name_(name),
        pongs_(lci::alloc_counter()),
        team_(the_job, threads + 1, bound) {
    lci::register_rcomp_x(pongs_).rcomp(pong_name_)();
    std::vector<lci::rmr_t> everybody(static_cast<size_t>(the_job.ranks()));
    const lci::rmr_t own = memory_.rmr();
    lci::allgather(&own, everybody.data(), sizeof(own));
    peer_ = everybody[static_cast<size_t>(the_job.peer())];
  }
  ~waves() {
    lci::barrier();  // the partner uses our memory no more
    lci::deregister_rcomp(pong_name_);
    lci::free_comp(&pongs_);
  }
  waves(const waves&) = delete;
  waves& operator=(const waves&) = delete;

  result measure(size_t size) {
    size_ = size;
    const uint64_t n = waves_for(options_, size, threads_);
    for (int ping = 0; ping < pings_; ++ping) {
      fill(source(ping), ping, job_.rank());
      std::memset(landing(ping), 0, size);
    }
    std::vector<uint64_t> begins(static_cast<size_t>(threads_) + 1);
    std::vector<uint64_t> ends(begins.size());
    team_.run([&](int thread) {
      run(thread, std::max<uint64_t>(1, n / 10));
      if (thread == 0) landed_ = 0;
      team_.sync(thread);
      begins[static_cast<size_t>(thread)] = now();
      run(thread, n);
      ends[static_cast<size_t>(thread)] = now();
      team_.sync(thread);
    });
    check();
    return of_all_ranks(n, *std::max_element(ends.begin(), ends.end()) -
                               *std::min_element(begins.begin(), begins.end()));
  }

 private:
  struct rank_result {
    uint64_t landed;
    uint64_t nanoseconds;
  };
  // Collective.
  result of_all_ranks(uint64_t n, uint64_t nanoseconds) const {
    const rank_result own{landed_, nanoseconds};
    std::vector<rank_result> all(static_cast<size_t>(job_.ranks()));
    lci::allgather(&own, all.data(), sizeof(own));
    result sum;
    sum.waves = n;
    uint64_t longest = 1;
    for (const rank_result& one : all) {
      sum.landed += one.landed;
      longest = std::max(longest, one.nanoseconds);
    }
    sum.bytes = sum.landed * size_;
    sum.seconds = 1e-9 * static_cast<double>(longest);
    return sum;
  }

  void run(int thread, uint64_t n) {
    const uint64_t begun = answered_.load(std::memory_order_relaxed);  // as many in all threads
    team_.sync(thread);
    if (thread == threads_) {
      for (uint64_t i = 0; i < n; ++i) answer();
    } else {
      const lci::device_t device = job_.device_of(thread);
      lci::comp_t completed = lci::alloc_counter();
      int64_t posted = 0;  // that the counter will count
      for (uint64_t i = 1; i <= n; ++i) make_wave(thread, device, completed, &posted, begun + i);
      lci::free_comp(&completed);
    }
    team_.sync(thread);
  }

  // wave: how many there will have been.
  void make_wave(int thread, lci::device_t device, lci::comp_t completed, int64_t* posted,
                 uint64_t wave) {
    const auto progress = [device] { lci::progress_x().device(device)(); };
    for (int i = 0; i < options_.pings; ++i) {
      const int number = thread * options_.pings + i;
      for (;;) {
        const lci::status_t status = post(number, device, completed);
        if (status.is_posted()) ++*posted;
        if (!status.is_retry()) break;
        progress();
      }
    }
    while (lci::counter_get(completed) < *posted) progress();
    if (gets_) got_.fetch_add(static_cast<uint64_t>(options_.pings), std::memory_order_release);
    // The memory of gets is used again when all of our own are here, too.
    while (static_cast<uint64_t>(lci::counter_get(pongs_)) < wave ||
           (gets_ && answered_.load(std::memory_order_acquire) < wave)) {
      progress();
    }
  }

  lci::status_t post(int ping, lci::device_t device, lci::comp_t completed) {
    const size_t there = static_cast<size_t>(ping) * stride_;
    if (gets_) {
      return lci::post_get_x(job_.peer(), landing(ping), size_, completed, there, peer_)
          .device(device)();
    }
    return lci::post_put_x(job_.peer(), source(ping), size_, completed, landing_ + there, peer_)
        .device(device)();
  }

  // Waits for all pings of a wave that arrive here, and notifies the partner.
  void answer() {
    const lci::device_t device = job_.device_of(0);
    const auto progress = [device] { lci::progress_x().device(device)(); };
    if (gets_) {
      const uint64_t wave = answered_.load(std::memory_order_relaxed) + 1;
      const uint64_t all = wave * static_cast<uint64_t>(pings_);
      while (got_.load(std::memory_order_acquire) < all) progress();
    } else {
      for (int ping = 0; ping < pings_; ++ping) {
        uint64_t* const end = last_word(ping);
        while (__atomic_load_n(end, __ATOMIC_ACQUIRE) == 0) progress();
        __atomic_store_n(end, 0, __ATOMIC_RELAXED);  // for the next wave
      }
    }
    landed_ += static_cast<uint64_t>(pings_);
    char pong[pong_size] = {};
    // Before the pong: the partner's may come at once.
    answered_.fetch_add(1, std::memory_order_release);
    const auto answer =
        lci::post_am_x(job_.peer(), pong, pong_size, lci::COMP_NULL_RETRY, pong_name_)
            .device(device);
    while (answer().is_retry()) progress();
  }

  // Whether the bytes of the last wave are the bytes that were sent.
  void check() {
    std::vector<char> expected(size_);
    for (int ping = 0; ping < pings_; ++ping) {
      fill(expected.data(), ping, job_.peer());
      if (std::memcmp(expected.data(), landing(ping), size_ - sizeof(uint64_t)) == 0) continue;
      throw std::runtime_error(absl::StrCat("ping ", ping, " of ", size_, " bytes between rank ",
                                            job_.rank(), " and rank ", job_.peer(),
                                            " brought other bytes than were sent"));
    }
  }
  // The last word is not 0.
  void fill(char* to, int ping, int rank) const {
    const uint64_t word = (static_cast<uint64_t>(rank) << 32 | static_cast<uint32_t>(ping)) * 2 + 1;
    for (size_t at = 0; at < size_; ++at) {
      const size_t from_end = size_ - 1 - at;
      to[at] = reinterpret_cast<const char*>(&word)[7 - from_end % sizeof(word)];
    }
  }

  char* source(int ping) const { return memory_.data() + static_cast<size_t>(ping) * stride_; }
  char* landing(int ping) const { return source(ping) + landing_; }
  uint64_t* last_word(int ping) const {
    return reinterpret_cast<uint64_t*>(landing(ping) + size_ - sizeof(uint64_t));
  }

  const waves_options& options_;
  const job& job_;
  const int threads_;
  const int pings_;  // of a wave
  const bool gets_;
  const size_t stride_;   // from one ping's memory to the next
  const size_t landing_;  // offset in memory_: sources first, then where pings land
  const open_memory memory_;
  const lci::rcomp_t pong_name_;
  lci::comp_t pongs_;
  team team_;
  lci::rmr_t peer_;
  size_t size_ = 0;
  uint64_t landed_ = 0;                            // of the thread that answers
  alignas(64) std::atomic<uint64_t> answered_{0};  // waves
  alignas(64) std::atomic<uint64_t> got_{0};       // pings of gets that are complete
};

std::string json(const waves_options& chosen, int threads, size_t size, const result& one) {
  return json_line({
      {"benchmark", program, true},
      {"op", name_of(chosen.op), true},
      {"size", absl::StrCat(size), false},
      {"threads", absl::StrCat(threads), false},
      {"devices", chosen.dedicated ? "dedicated" : "shared", true},
      {"ranks", absl::StrCat(lci::get_rank_n()), false},
      {"backend", name_of(lci::get_default_net_context().get_attr_backend()), true},
      {"bind", name_of(chosen.bind), true},
      {"pings", absl::StrCat(chosen.pings), false},
      {"waves", absl::StrCat(one.waves), false},
      {"landed", absl::StrCat(one.landed), false},
      {"bytes_per_s", absl::StrFormat("%.1f", static_cast<double>(one.bytes) / one.seconds), false},
      {"wave_us", absl::StrFormat("%.3f", 1e6 * one.seconds / static_cast<double>(one.waves)),
       false},
      {"processor", processor_name(), true},
  });
}

std::string text(int threads, size_t size, const result& one) {
  return absl::StrFormat("%-9d %9d %16.2f %14.3f\n", threads, size,
                         static_cast<double>(one.bytes) / one.seconds / 1e6,
                         1e6 * one.seconds / static_cast<double>(one.waves));
}

std::string text_header(const waves_options& chosen) {
  return absl::StrCat(
      "# ", program, ": waves of ", chosen.pings, " ", name_of(chosen.op),
      "s of each thread, devices ", chosen.dedicated ? "dedicated" : "shared", ", backend ",
      name_of(lci::get_default_net_context().get_attr_backend()), ", ", lci::get_rank_n(),
      " ranks, bind ", name_of(chosen.bind), "\n# CPU ", processor_name(), "\n",
      absl::StrFormat("%-9s %9s %16s %14s\n", "# Threads", "Size", "Duplex (MB/s)", "A wave (us)"));
}

void measure(const waves_options& chosen) {
  const job the_job(lci::get_g_runtime(), chosen.dedicated ? chosen.threads.back() : 1);
  const bool prints = lci::get_rank_me() == 0;
  const bool is_json = chosen.format == output_format::json;
  if (prints && !is_json) std::fputs(text_header(chosen).c_str(), stdout);
  for (const int threads : chosen.threads) {
    const standing row = find_standing(threads + 1);
    // Not on the stack, which the address sanitizer aligns for less than it needs.
    const auto all = std::make_unique<waves>(chosen, the_job, threads, lci::reserve_rcomps(1),
                                             chosen.bind == binding::core ? &row : nullptr);
    for (const size_t size : chosen.sizes) {
      const result one = all->measure(size);
      if (!prints) continue;
      std::fputs((is_json ? json(chosen, threads, size, one) : text(threads, size, one)).c_str(),
                 stdout);
      std::fflush(stdout);
    }
  }
}

}  // namespace
}  // namespace perf

int main(int argc, char** argv) {
  return perf::run_main(perf::program, [&] {
    lci::cli::request wanted;
    const perf::waves_options chosen = perf::parse_waves(argc, argv, &wanted);
    if (wanted == lci::cli::request::help) {
      return perf::say_once(perf::program, perf::waves_help(), "");
    }
    return perf::run_program(perf::program, chosen.backend, perf::describe(chosen),
                             [&chosen] { perf::measure(chosen); });
  });
}
