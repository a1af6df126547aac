// The caller of a collective operation.
#ifndef BENCHMARKS_PERF_PARTICIPANT_H_
#define BENCHMARKS_PERF_PARTICIPANT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "benchmarks/perf/histogram.h"
#include "benchmarks/perf/options.h"
#include "benchmarks/perf/overlap.h"
#include "lci.hpp"

namespace perf {

// A rank or, where a rank has several threads, one of them, with buffers of its own. With
// --persistent it records the operation when it is made, and starts it; with --overlap the
// operation has a completion object.
class participant {
 public:
  participant(const options& chosen, lci::thread_team_t team, int thread, size_t size);
  ~participant();
  participant(const participant&) = delete;
  participant& operator=(const participant&) = delete;

  // n calls, one after the other. Nanoseconds.
  uint64_t run(uint64_t n, histogram* samples);

  // With --overlap, an operation is prepare(), and then one of the two runs.

  // Writes the bytes anew that are to be checked.
  void prepare();
  // Starts the operation and waits for its end; adds to times->pure. Nanoseconds.
  uint64_t run_pure(overlap_times* times);
  // Starts it, computes for so many steps, which as many calls of progress() divide as were chosen,
  // and waits for its end; adds to the other times.
  void run_overlapped(computation* work, uint64_t steps, overlap_times* times);

 private:
  void set_size(size_t size);
  bool sends_blocks() const;
  bool receives_blocks() const;
  void write();

  template <class Op>
  Op by_thread(Op op) const;
  // f(op) with the operation and its arguments.
  template <class F>
  void with_operation(const F& f);

  void call();   // blocks
  void start();  // with a completion object
  void wait();   // for its end

  double item(size_t rank, size_t i) const;
  double sum(size_t i, size_t ranks) const;
  char byte(size_t rank, size_t i) const;
  void expect(bool right, size_t at) const;
  void check() const;

  const options& options_;
  const lci::thread_team_t team_;  // empty: ranks call it
  const size_t thread_;
  const size_t rank_;   // of the participant
  const size_t ranks_;  // participants
  size_t size_ = 0;
  std::vector<double> sent_;
  std::vector<double> received_;
  std::vector<size_t> lengths_;        // of the blocks of all ranks
  lci::comp_t comp_;                   // empty: calls block
  lci::persistent_coll_t persistent_;  // empty: the operation is called
};

}  // namespace perf

#endif  // BENCHMARKS_PERF_PARTICIPANT_H_
