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

// Makes progress on a device as long as it exists. It polls while something moves, and for some
// time after that; then it sleeps, so that an idle program costs little: until the network tells it
// that there is something (net::device::wait_descriptors), a post has left something to do, or it
// is time to look; where nothing tells, it looks after a sleep that gets longer and longer, up to
// a millisecond. An exception of progress is logged: a peer that has failed is known to the runtime
// then, as ever.
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
