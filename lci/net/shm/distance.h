#ifndef LCI_NET_SHM_DISTANCE_H_
#define LCI_NET_SHM_DISTANCE_H_

#include <atomic>
#include <chrono>

namespace lci::net::shm {

enum class distance_mode : unsigned char { measured, near, far };

// Whether a peer runs on a distant processor: one with which ours shares no cache, so that a line
// takes several times as long from one to the other. The system decides where the ranks run, and
// may change it.
//
// Thread safety: measured() by one thread at a time, is_far() by any, assume() before both.
class distance {
 public:
  // Near or far: whatever is measured.
  void assume(distance_mode mode) { mode_ = mode; }
  // Reading a line that the peer has written took so long, including a reading of the clock (20 to
  // 30 ns).
  void measured(std::chrono::nanoseconds time) {
    const int votes = votes_.load(std::memory_order_relaxed);
    if (time > most_near) {
      if (votes < most_votes) votes_.store(votes + 1, std::memory_order_relaxed);
    } else if (votes > 0) {
      votes_.store(votes - 1, std::memory_order_relaxed);
    }
  }
  // As assumed; otherwise false until something else has been measured several times.
  bool is_far() const {
    if (mode_ != distance_mode::measured) return mode_ == distance_mode::far;
    return votes_.load(std::memory_order_relaxed) > most_votes / 2;
  }

  // Near processors need 25 to 80 ns for a line, distant ones 130 to 400.
  static constexpr std::chrono::nanoseconds most_near{95};
  // A thread may lose its processor while it reads: a few measurements alone prove nothing.
  static constexpr int most_votes = 6;

 private:
  std::atomic<int> votes_{0};  // for far
  distance_mode mode_ = distance_mode::measured;
};

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_DISTANCE_H_
