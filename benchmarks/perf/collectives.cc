// The latency of collective operations: calls one after the other, as a program makes them.
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmarks/perf/clock.h"
#include "benchmarks/perf/job.h"
#include "benchmarks/perf/measure.h"
#include "benchmarks/perf/team.h"
#include "lci.hpp"

namespace perf {
namespace {

constexpr lci::reduce_op_t add = lci::reduce_sum<double>;

// The caller of the operation is a rank, or, where a rank has several threads, one of them.
class participant {
 public:
  participant(const options& chosen, lci::thread_team_t team, int thread, size_t size)
      : options_(chosen),
        team_(chosen.threads > 1 ? team : lci::thread_team_t()),
        thread_(static_cast<size_t>(thread)),
        rank_(lci::get_thread_me(team, thread_)),
        ranks_(lci::get_thread_n(team)) {
    set_size(size);
  }

  // n calls. Nanoseconds.
  uint64_t run(uint64_t n, histogram* samples) {
    const uint64_t begin = now();
    uint64_t last = begin;
    for (uint64_t i = 0; i < n; ++i) {
      if (options_.validate) {
        write();
        std::memset(received_.data(), 0, received_.size() * sizeof(double));
      }
      call();
      if (options_.validate) check();
      if (samples == nullptr) continue;
      const uint64_t at = now();
      samples->add(at - last);
      last = at;
    }
    return now() - begin;
  }

 private:
  // Sums of a few small numbers are exact.
  double item(size_t rank, size_t i) const { return static_cast<double>((rank + i) % 64); }
  // Of the first ranks.
  double sum(size_t i, size_t ranks) const {
    double all = 0;
    for (size_t rank = 0; rank < ranks; ++rank) all += item(rank, i);
    return all;
  }
  double sum(size_t i) const { return sum(i, ranks_); }
  char byte(size_t rank, size_t i) const { return static_cast<char>(17 * rank + i); }

  void set_size(size_t size) {
    size_ = size;
    sent_.assign((sends_blocks() ? ranks_ * size : size) / sizeof(double) + 1, 0);
    received_.assign((receives_blocks() ? ranks_ * size : size) / sizeof(double) + 1, 0);
    const bool of_items = options_.op == operation::reduce_scatterv;
    lengths_.assign(ranks_, of_items ? size / sizeof(double) : size);
    write();
  }

  // Whether the buffers have a block of each rank.
  bool sends_blocks() const {
    switch (options_.op) {
      case operation::alltoall:
      case operation::alltoallv:
      case operation::reduce_scatter:
      case operation::reduce_scatterv:
      case operation::scatter:
        return true;
      default:
        return false;
    }
  }
  bool receives_blocks() const {
    switch (options_.op) {
      case operation::alltoall:
      case operation::alltoallv:
      case operation::allgather:
      case operation::allgatherv:
      case operation::gather:
        return true;
      default:
        return false;
    }
  }

  // The contribution of this rank.
  void write() {
    if (combines(options_.op)) {
      for (size_t i = 0; i < sent_.size(); ++i) sent_[i] = item(rank_, i);
    } else {
      char* const bytes = reinterpret_cast<char*>(sent_.data());
      for (size_t i = 0; i < sent_.size() * sizeof(double); ++i) bytes[i] = byte(rank_, i);
    }
  }

  template <class Op>
  void call_by_thread(Op op) const {
    op.thread_team(team_).thread(thread_)();
  }

  void call() {
    const size_t count = size_ / sizeof(double);
    switch (options_.op) {
      case operation::barrier:
        return call_by_thread(lci::barrier_x());
      case operation::broadcast:
        return call_by_thread(
            lci::broadcast_x(rank_ == 0 ? sent_.data() : received_.data(), size_, 0));
      case operation::reduce:
        return call_by_thread(
            lci::reduce_x(sent_.data(), received_.data(), count, sizeof(double), add, 0));
      case operation::allreduce:
        return call_by_thread(
            lci::allreduce_x(sent_.data(), received_.data(), count, sizeof(double), add));
      case operation::reduce_scatter:
        return lci::reduce_scatter(sent_.data(), received_.data(), count, sizeof(double), add);
      case operation::allgather:
        return lci::allgather(sent_.data(), received_.data(), size_);
      case operation::alltoall:
        return lci::alltoall(sent_.data(), received_.data(), size_);
      case operation::gather:
        return lci::gather(sent_.data(), received_.data(), size_, 0);
      case operation::scatter:
        return lci::scatter(sent_.data(), received_.data(), size_, 0);
      case operation::scan:
        return lci::scan(sent_.data(), received_.data(), count, sizeof(double), add);
      case operation::exscan:
        return lci::exscan(sent_.data(), received_.data(), count, sizeof(double), add);
      case operation::reduce_scatterv:
        return lci::reduce_scatterv(sent_.data(), received_.data(), lengths_.data(), sizeof(double),
                                    add);
      case operation::allgatherv:
        return lci::allgatherv(sent_.data(), received_.data(), lengths_.data());
      case operation::alltoallv:
        return lci::alltoallv(sent_.data(), lengths_.data(), received_.data(), lengths_.data());
      default:
        throw std::logic_error("not collective");
    }
  }

  void expect(bool right, size_t at) const {
    if (right) return;
    throw std::runtime_error(absl::StrCat("--validate: wrong bytes in a result of ",
                                          name_of(options_.op), " of ", size_, " bytes, at ", at));
  }

  void check() const {
    const size_t count = size_ / sizeof(double);
    const char* const bytes = reinterpret_cast<const char*>(received_.data());
    switch (options_.op) {
      case operation::broadcast:
        for (size_t i = 0; rank_ != 0 && i < size_; ++i) expect(bytes[i] == byte(0, i), i);
        return;
      case operation::reduce:
      case operation::allreduce:
        if (options_.op == operation::reduce && rank_ != 0) return;
        for (size_t i = 0; i < count; ++i) expect(received_[i] == sum(i), i * sizeof(double));
        return;
      case operation::scan:
      case operation::exscan: {
        const size_t ranks = options_.op == operation::scan ? rank_ + 1 : rank_;
        for (size_t i = 0; i < count; ++i) {
          expect(received_[i] == sum(i, ranks), i * sizeof(double));
        }
        return;
      }
      case operation::scatter:
        for (size_t i = 0; i < size_; ++i) expect(bytes[i] == byte(0, rank_ * size_ + i), i);
        return;
      case operation::reduce_scatter:
      case operation::reduce_scatterv:
        for (size_t i = 0; i < count; ++i) {
          expect(received_[i] == sum(rank_ * count + i), i * sizeof(double));
        }
        return;
      case operation::gather:
        if (rank_ != 0) return;
        [[fallthrough]];
      case operation::allgather:
      case operation::allgatherv:
      case operation::alltoall:
      case operation::alltoallv: {
        const size_t begin = sends_blocks() ? rank_ * size_ : 0;
        for (size_t from = 0; from < ranks_; ++from) {
          for (size_t i = 0; i < size_; ++i) {
            expect(bytes[from * size_ + i] == byte(from, begin + i), from * size_ + i);
          }
        }
        return;
      }
      default:
        return;
    }
  }

  const options& options_;
  const lci::thread_team_t team_;  // empty: ranks call it
  const size_t thread_;
  const size_t rank_;   // of the participant
  const size_t ranks_;  // participants
  size_t size_ = 0;
  std::vector<double> sent_;
  std::vector<double> received_;
  std::vector<size_t> lengths_;  // of the blocks of all ranks
};

class collective_test {
 public:
  collective_test(const options& chosen, const standing* bound)
      : options_(chosen),
        job_(lci::get_g_runtime(), chosen.device_count),
        team_(job_, chosen.threads, bound) {}

  figures measure(size_t size) {
    for (int thread = 0; thread < options_.threads; ++thread) {
      participants_.push_back(std::make_unique<participant>(options_, team_.all(), thread, size));
    }
    const run_counts counts =
        counts_for(options_, size, [this](uint64_t n) { return run(n, nullptr); });
    run(counts.warmup, nullptr);
    times own;
    const cpu_time before = used_cpu_time();
    own.longest = run(counts.measured, nullptr);
    own.cpu = used_cpu_time() - before;
    own.mean_total = own.longest;
    own.mean_steps = counts.measured;
    run(counts.measured, &own.samples);
    participants_.clear();
    const uint64_t calls = counts.measured * lci::get_thread_n(team_.all());
    return figures_from(combined(own), size, counts.measured, calls, 1);
  }

 private:
  // n calls, all threads of all ranks beginning together. Nanoseconds of this rank's first thread.
  uint64_t run(uint64_t n, histogram* samples) {
    uint64_t taken = 0;
    team_.run([&](int thread) {
      participant& own = *participants_[static_cast<size_t>(thread)];
      team_.sync(thread);
      const uint64_t its = own.run(n, thread == 0 ? samples : nullptr);
      if (thread == 0) taken = its;
    });
    return taken;
  }

  const options& options_;
  const job job_;
  team team_;
  std::vector<std::unique_ptr<participant>> participants_;  // by thread
};

}  // namespace

void measure_collectives(const options& chosen, const standing* bound, const report& tell) {
  collective_test test(chosen, bound);
  for (const size_t size : chosen.sizes) {
    const figures result = test.measure(size);
    if (lci::get_rank_me() == 0) tell(result);
  }
}

}  // namespace perf
