// The latency of collective operations: calls one after the other, as a program makes them.
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmarks/perf/clock.h"
#include "benchmarks/perf/measure.h"
#include "lci.hpp"

namespace perf {
namespace {

void add(const void* left, const void* right, void* result, size_t n) {
  const auto* const a = static_cast<const double*>(left);
  const auto* const b = static_cast<const double*>(right);
  auto* const to = static_cast<double*>(result);
  for (size_t i = 0; i < n; ++i) to[i] = a[i] + b[i];
}

class collective_test {
 public:
  explicit collective_test(const options& chosen)
      : options_(chosen),
        rank_(static_cast<size_t>(lci::get_rank_me())),
        ranks_(static_cast<size_t>(lci::get_rank_n())) {}

  figures measure(size_t size) {
    set_size(size);
    const run_lengths lengths =
        lengths_for(options_, size, [this](uint64_t n) { return run(n, nullptr); });
    run(lengths.warmup, nullptr);
    times own;
    const cpu_time before = used_cpu_time();
    own.longest = run(lengths.measured, nullptr);
    own.cpu = used_cpu_time() - before;
    own.mean_total = own.longest;
    own.mean_steps = lengths.measured;
    run(lengths.measured, &own.samples);
    return figures_from(combined(own), size, lengths.measured, lengths.measured * ranks_, 1);
  }

 private:
  // Sums of a few small numbers are exact.
  double item(size_t rank, size_t i) const { return static_cast<double>((rank + i) % 64); }
  double sum(size_t i) const {
    double all = 0;
    for (size_t rank = 0; rank < ranks_; ++rank) all += item(rank, i);
    return all;
  }
  char byte(size_t rank, size_t i) const { return static_cast<char>(17 * rank + i); }

  void set_size(size_t size) {
    size_ = size;
    const bool from_each =
        options_.op == operation::alltoall || options_.op == operation::reduce_scatter;
    const bool to_each = options_.op == operation::alltoall || options_.op == operation::allgather;
    sent_.assign((from_each ? ranks_ * size : size) / sizeof(double) + 1, 0);
    received_.assign((to_each ? ranks_ * size : size) / sizeof(double) + 1, 0);
    write();
  }

  // What this rank contributes.
  void write() {
    if (combines()) {
      for (size_t i = 0; i < sent_.size(); ++i) sent_[i] = item(rank_, i);
    } else {
      char* const bytes = reinterpret_cast<char*>(sent_.data());
      for (size_t i = 0; i < sent_.size() * sizeof(double); ++i) bytes[i] = byte(rank_, i);
    }
  }

  bool combines() const {
    return options_.op == operation::reduce || options_.op == operation::allreduce ||
           options_.op == operation::reduce_scatter;
  }

  void call() {
    const size_t count = size_ / sizeof(double);
    switch (options_.op) {
      case operation::barrier:
        return lci::barrier();
      case operation::broadcast:
        return lci::broadcast(rank_ == 0 ? sent_.data() : received_.data(), size_, 0);
      case operation::reduce:
        return lci::reduce(sent_.data(), received_.data(), count, sizeof(double), add, 0);
      case operation::allreduce:
        return lci::allreduce(sent_.data(), received_.data(), count, sizeof(double), add);
      case operation::reduce_scatter:
        return lci::reduce_scatter(sent_.data(), received_.data(), count, sizeof(double), add);
      case operation::allgather:
        return lci::allgather(sent_.data(), received_.data(), size_);
      case operation::alltoall:
        return lci::alltoall(sent_.data(), received_.data(), size_);
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
      case operation::reduce_scatter:
        for (size_t i = 0; i < count; ++i) {
          expect(received_[i] == sum(rank_ * count + i), i * sizeof(double));
        }
        return;
      case operation::allgather:
      case operation::alltoall: {
        const size_t begin = options_.op == operation::alltoall ? rank_ * size_ : 0;
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

  // n calls, all ranks beginning together. Nanoseconds of this rank.
  uint64_t run(uint64_t n, histogram* samples) {
    lci::barrier();
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

  const options& options_;
  const size_t rank_;
  const size_t ranks_;
  size_t size_ = 0;
  std::vector<double> sent_;
  std::vector<double> received_;
};

}  // namespace

void measure_collectives(const options& chosen, const standing* bound, const report& tell) {
  if (bound != nullptr) bind_this_thread(*bound, 0);
  collective_test test(chosen);
  for (const size_t size : chosen.sizes) {
    const figures result = test.measure(size);
    if (lci::get_rank_me() == 0) tell(result);
  }
}

}  // namespace perf
