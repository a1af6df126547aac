// Which way large data go in collective operations of one kind and size: the decisions of one rank,
// which all ranks follow.
#ifndef LCI_COLL_WAY_CHOOSER_H_
#define LCI_COLL_WAY_CHOOSER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace lci::coll {

enum class way : uint8_t {
  pipes,   // in pieces, which one rank copies in and the others copy out (piped_operation.h)
  kernel,  // from the ranks' own memory (process_vm_readv)
};
constexpr way other(way goes) { return goes == way::pipes ? way::kernel : way::pipes; }

// The way of each operation, by its number among all of the arena.
struct way_plan {
  uint64_t from = 0;        // operations with this number or a higher one go `after`
  way before = way::pipes;  // the others
  way after = way::pipes;
  bool is_measured = false;  // whether the ranks note when they begin and end such operations

  way of(uint64_t number) const { return number < from ? before : after; }
  // In one word; 0 is the first plan, through pipes.
  uint64_t pack() const {
    return from << 3 | static_cast<uint64_t>(before) << 2 | static_cast<uint64_t>(after) << 1 |
           static_cast<uint64_t>(is_measured);
  }
  static way_plan unpack(uint64_t word) {
    return {word >> 3, static_cast<way>(word >> 2 & 1), static_cast<way>(word >> 1 & 1),
            (word & 1) != 0};
  }
};

// Measures both ways, and prefers the faster one. Which one that is depends on the processors, on
// how many of them there are for the ranks, on the operation and on the size
// (docs/performance/collectives.md): copies by the kernel are one where pipes take two, and pipes
// stay in the caches.
//
// A long phase goes the better way. At its end some of its operations are measured, and then as many
// that go the other way. A long phase is twice as long as the one before, up to a limit, as long as
// the same way is better: trials then take up to 2 % of the operations, and in the end 0.2 %.
//
// Thread safety: one thread at a time.
class way_chooser {
 public:
  // Measured operations of each way: the second number, or more until they have taken so many ns,
  // up to the first number.
  static constexpr size_t samples = 16;
  static constexpr size_t fewest_samples = 4;
  static constexpr int64_t enough_time = 5000000;
  static constexpr uint64_t first_phase = 2;        // operations before the first measurement
  static constexpr uint64_t shortest_phase = 4096;  // operations of a long phase
  static constexpr uint64_t longest_phase = 65536;

  // An operation has ended.
  void count() { ++ended_; }
  // An operation that went this way, and which all ranks have finished, took so long from the arrival
  // of the last rank to the end of all, in ns.
  void add(way gone, int64_t duration);

  // The plan to follow `now`, if there is one. `earliest`: a number from which on all ranks will know
  // it.
  std::optional<way_plan> next(const way_plan& now, uint64_t earliest);

 private:
  struct taken {
    std::array<int64_t, samples> durations;  // ns
    size_t count = 0;
    int64_t time = 0;  // of all

    bool is_complete() const {
      return count == samples || (count >= fewest_samples && time >= enough_time);
    }
    // A low quartile: the first operations after a change of the way, and those that the system
    // interrupts, take many times as long.
    int64_t usual() const;
  };
  enum class phase { long_one, own_measurement, trial };

  taken& of(way gone) { return taken_[static_cast<size_t>(gone)]; }
  bool is_other_better();

  phase phase_ = phase::long_one;
  way best_ = way::pipes;
  uint64_t ended_ = 0;  // operations of this phase
  uint64_t length_ = first_phase;
  std::array<taken, 2> taken_;  // by way
};

}  // namespace lci::coll

#endif  // LCI_COLL_WAY_CHOOSER_H_
