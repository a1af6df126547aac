#include "benchmarks/perf/participant.h"

#include <cstring>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "benchmarks/perf/clock.h"

namespace perf {
namespace {

constexpr lci::reduce_op_t add = lci::reduce_sum<double>;

}  // namespace

// Buffers.

// Sums of a few small numbers are exact.
double participant::item(size_t rank, size_t i) const {
  return static_cast<double>((rank + i) % 64);
}

// Of the first ranks.
double participant::sum(size_t i, size_t ranks) const {
  double all = 0;
  for (size_t rank = 0; rank < ranks; ++rank) all += item(rank, i);
  return all;
}

char participant::byte(size_t rank, size_t i) const { return static_cast<char>(17 * rank + i); }

void participant::set_size(size_t size) {
  size_ = size;
  sent_.assign((sends_blocks() ? ranks_ * size : size) / sizeof(double) + 1, 0);
  received_.assign((receives_blocks() ? ranks_ * size : size) / sizeof(double) + 1, 0);
  const bool of_items = options_.op == operation::reduce_scatterv;
  lengths_.assign(ranks_, of_items ? size / sizeof(double) : size);
  write();
}

// Whether the buffers have a block of each rank.
bool participant::sends_blocks() const {
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

bool participant::receives_blocks() const {
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
void participant::write() {
  if (combines(options_.op)) {
    for (size_t i = 0; i < sent_.size(); ++i) sent_[i] = item(rank_, i);
  } else {
    char* const bytes = reinterpret_cast<char*>(sent_.data());
    for (size_t i = 0; i < sent_.size() * sizeof(double); ++i) bytes[i] = byte(rank_, i);
  }
}

// The operation.

template <class Op>
Op participant::by_thread(Op op) const {
  op.thread_team(team_).thread(thread_);
  return op;
}

template <class F>
void participant::with_operation(const F& f) {
  const size_t count = size_ / sizeof(double);
  double* const in = received_.data();
  const double* const out = sent_.data();
  const size_t* const lengths = lengths_.data();
  constexpr size_t item_size = sizeof(double);
  switch (options_.op) {
    case operation::barrier:
      return f(by_thread(lci::barrier_x()));
    case operation::broadcast:
      return f(by_thread(lci::broadcast_x(rank_ == 0 ? sent_.data() : in, size_, 0)));
    case operation::reduce:
      return f(by_thread(lci::reduce_x(out, in, count, item_size, add, 0)));
    case operation::allreduce:
      return f(by_thread(lci::allreduce_x(out, in, count, item_size, add)));
    case operation::reduce_scatter:
      return f(lci::reduce_scatter_x(out, in, count, item_size, add));
    case operation::allgather:
      return f(lci::allgather_x(out, in, size_));
    case operation::alltoall:
      return f(lci::alltoall_x(out, in, size_));
    case operation::gather:
      return f(lci::gather_x(out, in, size_, 0));
    case operation::scatter:
      return f(lci::scatter_x(out, in, size_, 0));
    case operation::scan:
      return f(lci::scan_x(out, in, count, item_size, add));
    case operation::exscan:
      return f(lci::exscan_x(out, in, count, item_size, add));
    case operation::reduce_scatterv:
      return f(lci::reduce_scatterv_x(out, in, lengths, item_size, add));
    case operation::allgatherv:
      return f(lci::allgatherv_x(out, in, lengths));
    case operation::alltoallv:
      return f(lci::alltoallv_x(out, lengths, in, lengths));
    default:
      throw std::logic_error("not collective");
  }
}

void participant::call() {
  if (persistent_.is_empty()) return with_operation([](const auto& op) { op(); });
  lci::persistent_coll_start(persistent_);
}

void participant::start() {
  if (!persistent_.is_empty()) return lci::persistent_coll_start(persistent_);
  with_operation([this](auto op) { op.comp(comp_)(); });
}

void participant::wait() {
  lci::status_t status;
  lci::sync_wait(comp_, &status);
  if (status.is_done()) return;
  throw std::runtime_error(absl::StrCat(name_of(options_.op), " of ", size_,
                                        " bytes failed: a rank is gone, or called another one"));
}

participant::participant(const options& chosen, lci::thread_team_t team, int thread, size_t size)
    : options_(chosen),
      team_(chosen.threads > 1 ? team : lci::thread_team_t()),
      thread_(static_cast<size_t>(thread)),
      rank_(lci::get_thread_me(team, thread_)),
      ranks_(lci::get_thread_n(team)) {
  set_size(size);
  if (chosen.overlap) comp_ = lci::alloc_sync();
  if (!chosen.persistent) return;
  with_operation([this](auto op) {
    if (!comp_.is_empty()) op.comp(comp_);
    persistent_ = lci::alloc_persistent_coll(op);
  });
}

participant::~participant() {
  if (!persistent_.is_empty()) lci::free_persistent_coll(&persistent_);
  if (!comp_.is_empty()) lci::free_comp(&comp_);
}

// Runs.

void participant::prepare() {
  if (!options_.validate) return;
  write();
  std::memset(received_.data(), 0, received_.size() * sizeof(double));
}

uint64_t participant::run(uint64_t n, histogram* samples) {
  const uint64_t begin = now();
  uint64_t last = begin;
  for (uint64_t i = 0; i < n; ++i) {
    prepare();
    call();
    if (options_.validate) check();
    if (samples == nullptr) continue;
    const uint64_t at = now();
    samples->add(at - last);
    last = at;
  }
  return now() - begin;
}

uint64_t participant::run_pure(overlap_times* times) {
  const uint64_t begin = now();
  start();
  wait();
  const uint64_t taken = now() - begin;
  if (options_.validate) check();
  times->pure += taken;
  return taken;
}

void participant::run_overlapped(computation* work, uint64_t steps, overlap_times* times) {
  const auto parts = static_cast<uint64_t>(options_.progress_calls) + 1;
  const uint64_t begin = now();
  start();
  const uint64_t started = now();
  uint64_t at = started;
  for (uint64_t part = 0; part < parts; ++part) {
    if (part > 0) {
      lci::progress();
      const uint64_t progressed = now();
      times->progress += progressed - at;
      at = progressed;
    }
    work->run(steps * (part + 1) / parts - steps * part / parts);
    const uint64_t computed = now();
    times->compute += computed - at;
    at = computed;
  }
  wait();
  const uint64_t end = now();
  if (options_.validate) check();
  times->start += started - begin;
  times->wait += end - at;
  times->total += end - begin;
}

// Results.

void participant::expect(bool right, size_t at) const {
  if (right) return;
  throw std::runtime_error(absl::StrCat("--validate: wrong bytes in a result of ",
                                        name_of(options_.op), " of ", size_, " bytes, at ", at));
}

void participant::check() const {
  const size_t count = size_ / sizeof(double);
  const char* const bytes = reinterpret_cast<const char*>(received_.data());
  switch (options_.op) {
    case operation::broadcast:
      for (size_t i = 0; rank_ != 0 && i < size_; ++i) expect(bytes[i] == byte(0, i), i);
      return;
    case operation::reduce:
    case operation::allreduce:
      if (options_.op == operation::reduce && rank_ != 0) return;
      for (size_t i = 0; i < count; ++i) expect(received_[i] == sum(i, ranks_), i * sizeof(double));
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
        expect(received_[i] == sum(rank_ * count + i, ranks_), i * sizeof(double));
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

}  // namespace perf
