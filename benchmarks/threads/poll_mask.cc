// gasnet_poll_mask: what it costs to serve the shared device, and not to.
//   lcrun -n 2 gasnet_poll_mask --help
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "benchmarks/perf/binding.h"
#include "benchmarks/perf/clock.h"
#include "benchmarks/perf/fields.h"
#include "benchmarks/perf/job.h"
#include "benchmarks/perf/program.h"
#include "benchmarks/perf/team.h"
#include "benchmarks/threads/options.h"
#include "lci.hpp"

namespace perf {
namespace {

constexpr const char* program = "gasnet_poll_mask";

// The state of the handlers.
lci::rcomp_t pong_name = 0;
std::atomic<uint64_t> pings{0};
std::atomic<uint64_t> pongs{0};
// By thread: another one may be late to leave a sync, and take what is for this one.
struct alignas(64) {
  std::atomic<uint64_t> count{0};
} of_own_device[max_threads];

void post(lci::device_t device, int rank, lci::rcomp_t name, int thread = 0) {
  uint64_t bytes = 0;
  static_cast<void>(lci::post_am_x(rank, &bytes, sizeof(bytes), lci::COMP_NULL, name)
                        .device(device)
                        .tag(static_cast<lci::tag_t>(thread))());
}

void on_ping(lci::status_t status) {
  pings.fetch_add(1, std::memory_order_relaxed);
  post(lci::get_default_device(), status.rank, pong_name);
}
void on_pong(lci::status_t) { pongs.fetch_add(1, std::memory_order_relaxed); }
void on_own(lci::status_t status) {
  of_own_device[status.tag].count.fetch_add(1, std::memory_order_relaxed);
}

struct result {
  double shared_us = 0;
  double own_us = 0;
};

// One mask and one number of threads.
class domains {
 public:
  domains(const poll_mask_options& chosen, const job& the_job, int threads, const standing* bound)
      : options_(chosen),
        job_(the_job),
        threads_(threads),
        own_before_(static_cast<size_t>(threads)),
        team_(the_job, threads, bound) {
    for (auto& each : of_own_device) each.count = 0;
    const auto handler = [](lci::comp_handler_t call) {
      return lci::alloc_handler_x(call).lend_am(true)();
    };
    comps_ = {handler(on_ping), handler(on_pong), handler(on_own)};
    for (const lci::comp_t comp : comps_) names_.push_back(lci::register_rcomp(comp));
    pong_name = names_[1];
    lci::barrier();
  }
  ~domains() {
    lci::barrier();
    for (const lci::rcomp_t name : names_) lci::deregister_rcomp(name);
    for (lci::comp_t& comp : comps_) lci::free_comp(&comp);
  }
  domains(const domains&) = delete;
  domains& operator=(const domains&) = delete;

  result measure() {
    result made;
    std::vector<double> own(static_cast<size_t>(threads_));
    team_.run([&](int thread) {
      for (const uint64_t n : {options_.iters / 10 + 1, options_.iters}) {
        team_.sync(thread);
        if (thread == 0) pings = pongs = 0;
        team_.sync(thread);
        const double shared_us = through_shared(thread, n);
        team_.sync(thread);
        own[static_cast<size_t>(thread)] = through_own(thread, n);
        if (thread == 0) made.shared_us = shared_us;
      }
      team_.sync(thread);
    });
    made.own_us = *std::max_element(own.begin(), own.end());
    return made;
  }

 private:
  static double one_way_us(uint64_t begun, uint64_t n) {
    return 1e-3 * static_cast<double>(now() - begun) / static_cast<double>(2 * n);
  }
  // A device that no other thread polls, and that is not the shared one.
  lci::device_t own_device(int thread) const { return job_.device_of(thread + 1); }

  // The first thread of one rank and the shared device of the other, whose threads poll theirs.
  double through_shared(int thread, uint64_t n) {
    if (job_.is_initiator() && thread > 0) return 0;
    const lci::device_t polled =
        job_.is_initiator() ? lci::get_default_device() : own_device(thread);
    const uint64_t begun = now();
    if (!job_.is_initiator()) {
      while (pings.load(std::memory_order_relaxed) < n) {
        lci::progress_x().device(polled)();
      }
      return 0;
    }
    for (uint64_t i = 1; i <= n; ++i) {
      post(polled, job_.peer(), names_[0]);
      while (pongs.load(std::memory_order_relaxed) < i) {
        lci::progress_x().device(polled)();
      }
    }
    return one_way_us(begun, n);
  }

  // All threads with their partners, each pair through its own device.
  double through_own(int thread, uint64_t n) {
    const lci::device_t device = own_device(thread);
    const auto& arrived = of_own_device[thread].count;
    const uint64_t before = own_before_[static_cast<size_t>(thread)];
    own_before_[static_cast<size_t>(thread)] += n;
    const uint64_t begun = now();
    for (uint64_t i = 1; i <= n; ++i) {
      if (job_.is_initiator()) post(device, job_.peer(), names_[2], thread);
      while (arrived.load(std::memory_order_relaxed) - before < i) {
        lci::progress_x().device(device)();
      }
      if (!job_.is_initiator()) post(device, job_.peer(), names_[2], thread);
    }
    return one_way_us(begun, n);
  }

  const poll_mask_options& options_;
  const job& job_;
  const int threads_;
  std::vector<uint64_t> own_before_;  // messages that each thread has had
  std::vector<lci::comp_t> comps_;
  std::vector<lci::rcomp_t> names_;  // ping, pong, own
  team team_;
};

std::string json(const poll_mask_options& chosen, int threads, int mask, const result& one) {
  return json_line({
      {"benchmark", program, true},
      {"mask", absl::StrCat(mask), false},
      {"threads", absl::StrCat(threads), false},
      {"ranks", absl::StrCat(lci::get_rank_n()), false},
      {"backend", name_of(lci::get_default_net_context().get_attr_backend()), true},
      {"bind", name_of(chosen.bind), true},
      {"iters", absl::StrCat(chosen.iters), false},
      {"shared_us", absl::StrFormat("%.3f", one.shared_us), false},
      {"own_us", absl::StrFormat("%.3f", one.own_us), false},
      {"processor", processor_name(), true},
  });
}

void measure(const poll_mask_options& chosen) {
  const bool prints = lci::get_rank_me() == 0;
  const bool is_json = chosen.format == output_format::json;
  if (prints && !is_json) {
    std::printf("# %s: 8 bytes one way, %d ranks, bind %s, CPU %s\n%-9s %9s %18s %16s\n", program,
                lci::get_rank_n(), name_of(chosen.bind), processor_name().c_str(), "# Threads",
                "Mask", "Shared device (us)", "Own device (us)");
  }
  lci::global_attr_t attr = lci::get_g_default_attr();
  for (const int threads : chosen.threads) {
    const standing row = find_standing(threads);
    for (const int mask : chosen.masks) {
      attr.am_poll_mask = mask;
      lci::set_g_default_attr(attr);
      const job the_job(lci::get_g_runtime(), threads + 1);
      const result one =
          domains(chosen, the_job, threads, chosen.bind == binding::core ? &row : nullptr)
              .measure();
      if (!prints) continue;
      std::fputs((is_json ? json(chosen, threads, mask, one)
                          : absl::StrFormat("%-9d %9d %18.3f %16.3f\n", threads, mask,
                                            one.shared_us, one.own_us))
                     .c_str(),
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
    const perf::poll_mask_options chosen = perf::parse_poll_mask(argc, argv, &wanted);
    if (wanted == lci::cli::request::help) {
      return perf::say_once(perf::program, perf::poll_mask_help(), "");
    }
    return perf::run_program(perf::program, chosen.backend, perf::describe(chosen),
                             [&chosen] { perf::measure(chosen); });
  });
}
