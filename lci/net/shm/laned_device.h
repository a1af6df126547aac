#ifndef LCI_NET_SHM_LANED_DEVICE_H_
#define LCI_NET_SHM_LANED_DEVICE_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "lci/base/thread_place.h"
#include "lci/net/backend.h"
#include "lci/net/shm/device.h"

namespace lci::net::shm {

// A device of several lanes, for threads that run at the same time: each thread has a home lane, by
// its number, through which it posts, and which it polls. Threads with different home lanes write
// no common memory. (Eight threads of a rank that share one lane send 2 million messages a second
// between them, as each of them waits for the lines that the others have written. With eight lanes
// they send as many as eight devices do.)
//
// A lane may have no thread that polls it: the thread that posts through it waits, or computes, or
// a peer has more threads. Threads find such lanes by the signs that a thread leaves when it polls
// its home lane, and adopt them: they poll them as well, until a sign shows that this is no longer
// necessary. A lane is adopted by the threads of one other lane.
//
// Order: a thread always posts through the same lane, so its messages arrive in order.
// Thread safety: as net::device says.
class laned_device final : public device {
 public:
  // `limits`: of each lane.
  laned_device(shm_context& context, const device_config& config, const device_limits& limits,
               std::shared_ptr<lanes_common> common);

  error_t post(const op& operation) override;
  error_t post_short(short_op what, net_imm_data_t imm, void* buffer, size_t size,
                     const remote_place* where) override;
  bool add(int rank, remote_region remote, uint64_t remote_offset, int64_t value) override;
  bool is_got_sooner(int rank, size_t size, bool alone) const override;
  void came(int rank, size_t size, bool got, std::chrono::nanoseconds time) override {
    lanes_[0].net->came(rank, size, got, time);
  }
  bool read_memory(int rank, void* to, uint64_t from, size_t size) override;
  void* mapped_address(int rank, remote_region remote, uint64_t remote_offset,
                       size_t size) override;
  error_t poll(completion* out, size_t max, size_t* count) override;
  void release(const completion& received) override;
  bool drained() override;
  bool has_left(int rank) override;
  bool has_died(int rank) override;
  std::optional<bool> has_arrivals() override;

 private:
  static constexpr uint32_t nobody = ~uint32_t{0};

  // Lines of 64 bytes, since the threads of other lanes read some members, and only seldom.
  struct lane {
    alignas(64) std::unique_ptr<shm_device> net;
    std::atomic<bool> is_used{false};  // the other ranks know that this one uses the lane

    // Of the threads at home. (Some counts may get lost where there are several.)
    alignas(64) std::atomic<uint32_t> polls{0};
    std::atomic<uint64_t> adopted{0};            // bit i: lane i
    std::atomic<uint32_t> next_visit{0};         // the lane that is visited next, if it is adopted
    std::atomic<uint64_t> in_use{0};             // bit i: lane i was in use at the last look
    std::atomic<uint32_t> next_look{0};          // the poll that looks at signs next
    std::atomic<uint32_t> interval{0};           // of looks, in polls
    std::atomic<uint32_t> seen[max_lanes] = {};  // of each lane, at the last look: poll_signs()

    // Written seldom, and read by the threads of other lanes.
    alignas(64) std::atomic<uint32_t> sign{0};  // changes while threads poll it at home
    std::atomic<uint32_t> adopter{nobody};      // the lane whose threads poll it as well
  };

  uint32_t home() const { return base::thread_place() & outlook_mask_; }
  uint32_t lanes() const { return outlook_mask_ + 1; }
  lane& used_lane();
  void use(lane& mine, uint32_t number);
  void look_around(lane& mine, uint32_t number, uint32_t polls);
  uint32_t poll_signs(uint32_t other, uint32_t adopter) const;
  void look_at(lane& mine, uint32_t number, uint32_t other);
  void leave(lane& mine, uint32_t number, uint32_t other);
  error_t visit_adopted(lane& mine, error_t result, completion* out, size_t max, size_t* count);

  const std::shared_ptr<lanes_common> common_;
  const std::unique_ptr<outlook[]> lane_outlooks_;  // by lane
  const std::unique_ptr<lane[]> lanes_;
};

}  // namespace lci::net::shm

#endif  // LCI_NET_SHM_LANED_DEVICE_H_
