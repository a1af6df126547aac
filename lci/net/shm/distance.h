#ifndef LCI_NET_SHM_DISTANCE_H_
#define LCI_NET_SHM_DISTANCE_H_

#include <atomic>
#include <chrono>
#include <cstdint>

namespace lci::net::shm {

enum class distance_mode : unsigned char { measured, near, far };

// Whether a peer runs on a distant processor: one with which ours shares no cache, so that a line
// takes several times as long from one to the other. The system decides where the ranks run, and
// may change it.
//
// Thread safety: assume() and watch() before all else; the others by any thread at any time. (Where
// several threads measure at once, measurements may get lost.)
class distance {
 public:
  // Near or far: whatever is measured.
  void assume(distance_mode mode) { mode_ = mode; }
  // A word that the peer writes while it polls.
  void watch(const std::atomic<uint32_t>& pulse) { pulse_ = &pulse; }

  // Reads that word, and measures how long this takes if the peer has written it since the last
  // time. For programs that write to the memory of the peer and seldom send it a message. One call
  // in calls_per_look does so.
  void look() {
    const uint32_t calls = calls_.load(std::memory_order_relaxed);
    calls_.store(calls + 1, std::memory_order_relaxed);
    if (calls % calls_per_look != 0 || pulse_ == nullptr || mode_ != distance_mode::measured)
      return;
    const auto begin = std::chrono::steady_clock::now();
    const uint32_t pulse = pulse_->load(std::memory_order_acquire);  // the clock is read after it
    const auto end = std::chrono::steady_clock::now();
    if (pulse == last_pulse_.load(std::memory_order_relaxed)) return;
    last_pulse_.store(pulse, std::memory_order_relaxed);
    measured(end - begin);
  }
  static constexpr uint32_t calls_per_look = 8;

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
  const std::atomic<uint32_t>* pulse_ = nullptr;
  std::atomic<uint32_t> last_pulse_{0};
  std::atomic<uint32_t> calls_{0};  // of look()
  distance_mode mode_ = distance_mode::measured;
};

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_DISTANCE_H_
