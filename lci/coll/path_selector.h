// Selects the path of large data in collective operations of one kind and size.
#ifndef LCI_COLL_PATH_SELECTOR_H_
#define LCI_COLL_PATH_SELECTOR_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace lci::coll {

enum class copy_path : uint8_t {
  pipes,   // in pieces that one rank copies in and the others copy out (piped_operation.h)
  kernel,  // by the kernel from or to the ranks' own memory (process_vm_readv, process_vm_writev)
  pipes_past_caches,  // pipes into which non-temporal stores copy
};
constexpr size_t copy_paths = 3;

// A set of paths: bit i is the copy_path i.
using path_set = uint8_t;
constexpr path_set set_of(copy_path path) {
  return static_cast<path_set>(1 << static_cast<unsigned>(path));
}
constexpr path_set all_paths = (1 << copy_paths) - 1;
constexpr path_set pipe_paths = set_of(copy_path::pipes) | set_of(copy_path::pipes_past_caches);

// The path of each operation, by the operation's number in its arena.
struct path_plan {
  uint64_t from = 0;                    // operations with this number or a higher one use `after`
  copy_path before = copy_path::pipes;  // the path of the other operations
  copy_path after = copy_path::pipes;
  bool is_measured = false;  // whether the ranks record when they begin and end the operations

  copy_path of(uint64_t number) const { return number < from ? before : after; }
  // The plan in one word. The word of a plan is never 0, except of the one by which all operations
  // use pipes and none is measured.
  uint64_t pack() const {
    return from << 5 | static_cast<uint64_t>(before) << 3 | static_cast<uint64_t>(after) << 1 |
           static_cast<uint64_t>(is_measured);
  }
  static path_plan unpack(uint64_t word) {
    return {word >> 5, path_in(word >> 3), path_in(word >> 1), (word & 1) != 0};
  }

 private:
  // Of two bits; another process wrote the word.
  static copy_path path_in(uint64_t bits) {
    return (bits & 3) < copy_paths ? static_cast<copy_path>(bits & 3) : copy_path::pipes;
  }
};

// Measures the paths and prefers the fastest one. The kernel needs one copy where pipes need two, and
// pipes stay in the caches, between which lines move slowly on some machines and between distant
// processors. Which path is the fastest depends on the processors, the number of ranks
// per processor, the kind of operation and the size (docs/performance/collectives.md).
//
// The operations form phases. A long phase uses the best path. At its end the selector measures some
// operations, and then as many operations on each of the other paths. As long as the same path is the
// best, each long phase is twice as long as the one before, up to a limit: trials then take at
// first 2 % and later less than 0.2 % of the operations.
//
// Thread safety: one thread at a time.
class path_selector {
 public:
  // `first`: the path before the first measurement. `choice`: those to be measured, `first` included.
  explicit path_selector(copy_path first = copy_path::pipes, path_set choice = all_paths)
      : choice_(choice), best_(first) {}

  // The selector measures `samples` operations of each path, or fewer if these have taken
  // `enough_time` ns, but at least `fewest_samples`.
  static constexpr size_t samples = 16;
  static constexpr size_t fewest_samples = 4;
  static constexpr int64_t enough_time = 5000000;
  static constexpr uint64_t first_phase = 2;        // operations before the first measurement
  static constexpr uint64_t shortest_phase = 4096;  // operations of a long phase
  static constexpr uint64_t longest_phase = 65536;

  // To be called for each operation that has ended, or for several.
  void count(uint64_t operations = 1) { ended_ += operations; }
  // To be called for each measured operation, after all ranks have finished it. `duration`: ns from
  // the arrival of the last rank to the end on all ranks.
  void add(copy_path path, int64_t duration);

  // Returns the plan that replaces `now`, if there is one. `earliest`: the first operation for which
  // all ranks will know the new plan.
  std::optional<path_plan> next(const path_plan& now, uint64_t earliest);

 private:
  struct sample {
    std::array<int64_t, samples> durations;  // ns
    size_t count = 0;
    int64_t time = 0;  // the sum of the durations

    bool is_complete() const {
      return count == samples || (count >= fewest_samples && time >= enough_time);
    }
    // The lower quartile. The first operations after a change of the path, and those that the
    // system interrupts, take many times as long.
    int64_t usual() const;
  };
  enum class phase { long_one, own_measurement, trials };

  sample& of(copy_path path) { return measured_[static_cast<size_t>(path)]; }
  // The path of the trial.
  copy_path tried() const {
    return static_cast<copy_path>((static_cast<size_t>(best_) + trial_) % copy_paths);
  }
  // Goes on to the next trial, from trial_ on. False: there is none.
  bool find_trial() {
    while (trial_ < copy_paths && (set_of(tried()) & choice_) == 0) ++trial_;
    return trial_ < copy_paths;
  }
  // The best path by the measurements.
  copy_path fastest();

  const path_set choice_;
  phase phase_ = phase::long_one;
  copy_path best_;
  uint64_t ended_ = 0;  // operations of this phase
  uint64_t length_ = first_phase;
  size_t trial_ = 1;                         // of the trials, from 1 on
  std::array<sample, copy_paths> measured_;  // by path
};

}  // namespace lci::coll

#endif  // LCI_COLL_PATH_SELECTOR_H_
