#ifndef LCI_RUNTIME_DEVICE_PROGRESS_THREAD_H_
#define LCI_RUNTIME_DEVICE_PROGRESS_THREAD_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "lci/base/wakeup.h"

struct pollfd;

namespace lci {
class device_impl_t;
}

namespace lci::rt {

// A thread that makes progress on a device for as long as this object exists. The thread polls
// while messages move, and for some time after that. Then it sleeps, so that an idle program costs
// little, until the network has an event (net::device::wait_descriptors), a post has left work
// behind, or the longest sleep of the network is over. On a network without events, each sleep is
// longer than the one before, up to a millisecond. The thread logs exceptions of progress; the
// runtime knows the failed peer then, as after any call of progress.
class progress_thread {
 public:
  // Throws std::runtime_error if there is no descriptor left.
  explicit progress_thread(device_impl_t& device);
  // Waits for its end, which a sleep does not delay.
  ~progress_thread();
  progress_thread(const progress_thread&) = delete;
  progress_thread& operator=(const progress_thread&) = delete;

  // Once, when those that leave it work know sleeper().
  void start();
  base::wakeup& sleeper() { return sleeper_; }

  // Since its start. Each by itself is exact; read by others, they may be of different moments.
  struct counts {
    uint64_t polls = 0;
    uint64_t sleeps = 0;
    uint64_t long_sleeps = 0;  // that nothing ended before their time, of more than short_sleep
  };
  counts now() const;

 private:
  void run();
  bool moves();
  void spin();
  void sleep();
  bool sleep_once(std::chrono::microseconds longest);

  device_impl_t& device_;
  base::wakeup sleeper_;
  std::vector<pollfd> descriptors_;
  std::atomic<bool> stop_{false};
  // Written by the thread.
  std::atomic<uint64_t> polls_{0};
  std::atomic<uint64_t> sleeps_{0};
  std::atomic<uint64_t> long_sleeps_{0};
  std::thread thread_;
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_DEVICE_PROGRESS_THREAD_H_
