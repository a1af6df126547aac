#ifndef LCI_NET_SHM_LARGE_PUTS_H_
#define LCI_NET_SHM_LARGE_PUTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "lci/ds/spinlock.h"

namespace lci::net::shm {

// How both ranks copy the bytes of a large put.
enum class way : uint8_t {
  kernel,  // each a part, from or to the other's memory (joint_copy.h)
  ring,    // one into the ring and the other out of it, at the same time (requests.h)
};

// Which of the two is faster depends on how far apart the processors are, and where they run is the
// kernel's choice, or even a host's: between processors of one cache the ring is two to three times
// faster; where a line takes 126 ns, a copy in a pipeline has half of the bandwidth of the kernel's
// (README, 1 MiB). So both are tried, a few puts every so often, and the one that took less time
// for its bytes is used meanwhile. Of puts that are under way together, each takes the time since
// the one before it was over.
//
// Times are in ns, from any one point on. Thread safety: any thread at any time; wait-free. What
// another thread is just noting is not waited for, but left out.
class way_chooser {
 public:
  // For a put that is to begin now.
  way next();
  // It has begun.
  void began(way through);
  // A put of `size` bytes that began at `begin` is over at `end`.
  void note(way through, size_t size, int64_t begin, int64_t end);

  // Puts of a trial, and between two: one in 32 goes the slower way.
  static constexpr int trial = 4;
  static constexpr int between_trials = 124;

 private:
  struct spent {
    double bytes = 0;
    double time = 0;
  };

  void begin_phase();
  void compare();
  spent& of(way which) { return lately_[static_cast<size_t>(which)]; }
  double& cost_of(way which) { return cost_[static_cast<size_t>(which)]; }

  ds::spinlock lock_;  // guards what follows
  way best_ = way::kernel;
  way now_ = way::kernel;            // another than the best: a trial
  int left_ = trial;                 // puts of this phase
  std::array<spent, 2> lately_;      // by way, since it was last compared
  std::array<double, 2> cost_ = {};  // ns a byte, by way; 0: not known
  int64_t last_end_ = 0;
};

// Those of a device: for each rank, and for puts of two sizes.
class large_puts {
 public:
  explicit large_puts(int ranks) : choosers_(new pair[static_cast<size_t>(ranks)]) {}

  way next(int rank, size_t size) { return chooser(rank, size).next(); }
  void began(way through, int rank, size_t size) { chooser(rank, size).began(through); }
  void note(way through, int rank, size_t size, int64_t begin) {
    chooser(rank, size).note(through, size, begin, now());
  }
  static int64_t now();

 private:
  static constexpr size_t very_large = size_t{512} << 10;
  using pair = std::array<way_chooser, 2>;

  way_chooser& chooser(int rank, size_t size) {
    return choosers_[static_cast<size_t>(rank)][size < very_large ? 0 : 1];
  }

  std::unique_ptr<pair[]> choosers_;  // by rank
};

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_LARGE_PUTS_H_
