// The comparison's measurement of collective operations over MPI: blocking calls, one after the
// other, as lci_perf makes them, with the same buffers, items and operators; or with --overlap
// non-blocking ones, without and with the same computation.
// Built by benchmarks/compare/run with the compiler wrapper of each MPI; started by its mpirun.
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "benchmarks/compare/mpi_library.h"
#include "benchmarks/compare/pair_options.h"
#include "benchmarks/perf/clock.h"
#include "benchmarks/perf/overlap.h"
#include "tools/cli/cli.h"

namespace compare {
namespace {

namespace cli = lci::cli;

enum class operation {
  barrier,
  broadcast,
  reduce,
  allreduce,
  reduce_scatter,
  allgather,
  alltoall,
  scan,
  exscan,
  reduce_scatterv,
  allgatherv
};

constexpr cli::word<operation> operations[] = {{"barrier", operation::barrier},
                                               {"broadcast", operation::broadcast},
                                               {"reduce", operation::reduce},
                                               {"allreduce", operation::allreduce},
                                               {"reduce_scatter", operation::reduce_scatter},
                                               {"allgather", operation::allgather},
                                               {"alltoall", operation::alltoall},
                                               {"scan", operation::scan},
                                               {"exscan", operation::exscan},
                                               {"reduce_scatterv", operation::reduce_scatterv},
                                               {"allgatherv", operation::allgatherv}};

constexpr cli::word<bool> bindings[] = {{"core", true}, {"none", false}};

struct collective_options {
  operation op = operation::barrier;
  size_t size = 0;       // bytes, as lci_perf counts them: of each block where there are blocks
  double seconds = 0.1;  // that the measured run takes, about
  bool bind_core = true;
  bool overlap = false;
  uint64_t progress_calls = 0;  // of MPI_Test, while a rank computes
};

cli::command command_of(collective_options* options) {
  return {"mpi_collectives [options]",
          "",
          {{"--op", "OP", "the operation", cli::choice(operations, &options->op)},
           {"--size", "N", "bytes, a multiple of 8 where they are combined",
            cli::number(0, 1 << 26, &options->size)},
           {"--seconds", "S", "duration of the measurement", cli::real(0, 60, &options->seconds)},
           {"--bind", "B", "what ranks are bound to", cli::choice(bindings, &options->bind_core)},
           {"--overlap", "", "measure the part of an operation's time that computation hides",
            cli::flag(&options->overlap)},
           {"--progress-calls", "N", "with --overlap: calls of MPI_Test during the computation",
            cli::number(0, 1000000, &options->progress_calls)}}};
}

// MPI's own error handler ends the job at the first error, so no return code is looked at.
class collective_bench {
 public:
  explicit collective_bench(const collective_options& options) : options_(options) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    if (options.bind_core) bind_to_core(rank_);
    const auto blocks = static_cast<size_t>(ranks_);
    const bool sends_blocks = options.op == operation::alltoall ||
                              options.op == operation::reduce_scatter ||
                              options.op == operation::reduce_scatterv;
    const bool receives_blocks = options.op == operation::alltoall ||
                                 options.op == operation::allgather ||
                                 options.op == operation::allgatherv;
    for (size_t r = 0; r < blocks; ++r) {
      item_counts_.push_back(static_cast<int>(items()));
      byte_counts_.push_back(static_cast<int>(options.size));
      byte_offsets_.push_back(static_cast<int>(r * options.size));
    }
    sent_.assign(items() * (sends_blocks ? blocks : 1) + 1, 1.0);
    received_.assign(items() * (receives_blocks ? blocks : 1) + 1, 0.0);
  }

  // Runs that get longer until one takes the time that was asked for; that one counts.
  void measure() {
    uint64_t calls = 1;
    perf::overlap_times times;
    const auto run = [this, &times](uint64_t n) {
      times = {};
      return options_.overlap ? run_pure(n, &times) : run_calls(n);
    };
    double seconds = run(calls);
    while (seconds < 0.8 * options_.seconds && calls < most_calls) {
      const double wanted = static_cast<double>(calls) * 1.1 * options_.seconds / seconds;
      calls =
          std::max(calls + 1, std::min({static_cast<uint64_t>(wanted), 10 * calls, most_calls}));
      seconds = run(calls);
    }
    if (options_.overlap) {
      run_overlapped(calls, work_.steps_in(times.pure / calls), &times);
      times = added(times);
    }
    if (rank_ == 0) print(calls, seconds, times);
  }

 private:
  static constexpr uint64_t most_calls = 50'000'000;

  size_t items() const { return options_.size / sizeof(double); }

  void call() {
    const int bytes = static_cast<int>(options_.size);
    const int count = static_cast<int>(items());
    double* const in = received_.data();
    const double* const out = sent_.data();
    switch (options_.op) {
      case operation::barrier:
        MPI_Barrier(MPI_COMM_WORLD);
        return;
      case operation::broadcast:
        MPI_Bcast(rank_ == 0 ? sent_.data() : in, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
        return;
      case operation::reduce:
        MPI_Reduce(out, in, count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        return;
      case operation::allreduce:
        MPI_Allreduce(out, in, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        return;
      case operation::reduce_scatter:
        MPI_Reduce_scatter_block(out, in, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        return;
      case operation::allgather:
        MPI_Allgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
        return;
      case operation::alltoall:
        MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
        return;
      case operation::scan:
        MPI_Scan(out, in, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        return;
      case operation::exscan:
        MPI_Exscan(out, in, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        return;
      case operation::reduce_scatterv:
        MPI_Reduce_scatter(out, in, item_counts_.data(), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        return;
      case operation::allgatherv:
        MPI_Allgatherv(out, bytes, MPI_BYTE, in, byte_counts_.data(), byte_offsets_.data(),
                       MPI_BYTE, MPI_COMM_WORLD);
        return;
    }
  }

  void start(MPI_Request* request) {
    const int bytes = static_cast<int>(options_.size);
    const int count = static_cast<int>(items());
    double* const in = received_.data();
    const double* const out = sent_.data();
    switch (options_.op) {
      case operation::barrier:
        MPI_Ibarrier(MPI_COMM_WORLD, request);
        return;
      case operation::broadcast:
        MPI_Ibcast(rank_ == 0 ? sent_.data() : in, bytes, MPI_BYTE, 0, MPI_COMM_WORLD, request);
        return;
      case operation::reduce:
        MPI_Ireduce(out, in, count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD, request);
        return;
      case operation::allreduce:
        MPI_Iallreduce(out, in, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, request);
        return;
      case operation::reduce_scatter:
        MPI_Ireduce_scatter_block(out, in, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, request);
        return;
      case operation::allgather:
        MPI_Iallgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD, request);
        return;
      case operation::alltoall:
        MPI_Ialltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD, request);
        return;
      case operation::scan:
        MPI_Iscan(out, in, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, request);
        return;
      case operation::exscan:
        MPI_Iexscan(out, in, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, request);
        return;
      case operation::reduce_scatterv:
        MPI_Ireduce_scatter(out, in, item_counts_.data(), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD,
                            request);
        return;
      case operation::allgatherv:
        MPI_Iallgatherv(out, bytes, MPI_BYTE, in, byte_counts_.data(), byte_offsets_.data(),
                        MPI_BYTE, MPI_COMM_WORLD, request);
        return;
    }
  }

  // As participant::run_pure and run_overlapped of lci_perf. Each operation is behind a barrier.
  // Seconds of all operations, of the slowest rank.
  double run_pure(uint64_t calls, perf::overlap_times* times) {
    for (uint64_t i = 0; i < calls; ++i) {
      MPI_Request request;
      MPI_Barrier(MPI_COMM_WORLD);
      const uint64_t begin = perf::now();
      start(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      times->pure += perf::now() - begin;
    }
    return slowest_of_ranks(1e-9 * static_cast<double>(times->pure));
  }

  void run_overlapped(uint64_t calls, uint64_t steps, perf::overlap_times* times) {
    const uint64_t parts = options_.progress_calls + 1;
    for (uint64_t i = 0; i < calls; ++i) {
      MPI_Request request;
      MPI_Barrier(MPI_COMM_WORLD);
      const uint64_t begin = perf::now();
      start(&request);
      const uint64_t started = perf::now();
      uint64_t at = started;
      for (uint64_t part = 0; part < parts; ++part) {
        if (part > 0) {
          int done = 0;
          MPI_Test(&request, &done, MPI_STATUS_IGNORE);
          const uint64_t progressed = perf::now();
          times->progress += progressed - at;
          at = progressed;
        }
        work_.run(steps * (part + 1) / parts - steps * part / parts);
        const uint64_t computed = perf::now();
        times->compute += computed - at;
        at = computed;
      }
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      const uint64_t end = perf::now();
      times->start += started - begin;
      times->wait += end - at;
      times->total += end - begin;
    }
  }

  // The sums of all ranks, for rank 0.
  static perf::overlap_times added(const perf::overlap_times& own) {
    const uint64_t each[] = {own.pure, own.total, own.start, own.compute, own.progress, own.wait};
    uint64_t sums[6] = {};
    MPI_Reduce(each, sums, 6, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    return {sums[0], sums[1], sums[2], sums[3], sums[4], sums[5]};
  }

  static double slowest_of_ranks(double own) {
    double slowest = 0;
    MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return std::max(slowest, 1e-9);
  }

  // Seconds of the slowest rank, which all ranks learn.
  double run_calls(uint64_t calls) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (uint64_t i = 0; i < calls; ++i) call();
    return slowest_of_ranks(MPI_Wtime() - begin);
  }

  void print(uint64_t calls, double seconds, const perf::overlap_times& sums) const {
    const double rate = static_cast<double>(calls) / seconds;
    std::printf(
        "{\"op\": \"%s\", \"test\": \"collective\", \"size\": %zu, \"backend\": \"%s\", \"ranks\": "
        "%d, "
        "\"iterations\": %llu, \"latency_us_mean\": %.4f, \"messages_per_s\": %.1f",
        cli::name_of(operations, options_.op), options_.size, library_name().c_str(), ranks_,
        static_cast<unsigned long long>(calls), 1e6 / rate, rate * ranks_);
    if (options_.overlap) {
      const perf::overlap_figures result =
          perf::overlap_from(sums, calls * static_cast<uint64_t>(ranks_));
      std::printf(
          ", \"progress_calls\": %llu, \"overlap_percent\": %.4f, \"total_us\": %.4f, "
          "\"start_us\": %.4f, \"compute_us\": %.4f, \"progress_us\": %.4f, \"wait_us\": %.4f",
          static_cast<unsigned long long>(options_.progress_calls), result.percent, result.total_us,
          result.start_us, result.compute_us, result.progress_us, result.wait_us);
    }
    std::puts("}");
    std::fflush(stdout);
  }

  const collective_options options_;
  int rank_ = 0;
  int ranks_ = 0;
  std::vector<double> sent_;
  std::vector<double> received_;
  // Of each rank's block, for the operations that take them.
  std::vector<int> item_counts_;
  std::vector<int> byte_counts_;
  std::vector<int> byte_offsets_;
  perf::computation work_;
};

int main_of(int argc, char** argv) {
  collective_options options;
  const cli::command command = command_of(&options);
  try {
    if (cli::parse(command, argc, argv).wanted == cli::request::help) {
      std::fputs(cli::help(command).c_str(), stdout);
      return 0;
    }
  } catch (const cli::usage_error& error) {
    std::fprintf(stderr, "mpi_collectives: %s\n", error.what());
    return 2;
  }
  MPI_Init(nullptr, nullptr);
  collective_bench(options).measure();
  MPI_Finalize();
  return 0;
}

}  // namespace
}  // namespace compare

int main(int argc, char** argv) { return compare::main_of(argc, argv); }
