// All channels of a rank.
#ifndef BENCHMARKS_PERF_CHANNELS_H_
#define BENCHMARKS_PERF_CHANNELS_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "benchmarks/perf/channel.h"

namespace perf {

class channels {
 public:
  channels(const job& the_job, const options& chosen)
      : job_(the_job),
        options_(chosen),
        names_(lci::reserve_rcomps_x(static_cast<lci::rcomp_t>(chosen.threads) * channel::names)
                   .runtime(the_job.runtime())()),
        all_(static_cast<size_t>(chosen.threads)) {}

  // Makes that of a thread; several threads may do so at the same time. Memory belongs to the
  // processor that writes it first, so each thread makes its own.
  void make(int thread) {
    all_[static_cast<size_t>(thread)] = std::make_unique<channel>(
        job_, options_, thread, names_ + static_cast<lci::rcomp_t>(thread) * channel::names);
  }

  // When all have been made: notifies the partner. Collective over the ranks; one thread calls it.
  void connect() {
    const size_t count = all_.size();
    std::vector<channel::target_memory> own;
    for (const auto& one : all_) own.push_back(one->memory());
    std::vector<channel::target_memory> everybody(count * static_cast<size_t>(job_.ranks()));
    lci::allgather_x(own.data(), everybody.data(), count * sizeof(channel::target_memory))
        .runtime(job_.runtime())();
    const size_t from = count * static_cast<size_t>(job_.peer());
    for (size_t i = 0; i < count; ++i) all_[i]->set_peer_memory(everybody[from + i]);
  }

  channel& of(int thread) { return *all_[static_cast<size_t>(thread)]; }

 private:
  const job& job_;
  const options& options_;
  const lci::rcomp_t names_;
  std::vector<std::unique_ptr<channel>> all_;
};

}  // namespace perf

#endif  // BENCHMARKS_PERF_CHANNELS_H_
