#ifndef LCI_RUNTIME_PROGRESS_THREAD_H_
#define LCI_RUNTIME_PROGRESS_THREAD_H_

#include <condition_variable>
#include <mutex>
#include <thread>

namespace lci {
class device_impl_t;
}

namespace lci::rt {

// Makes progress on a device as long as it exists. It polls while something moves, and for some
// time after that; then it sleeps between polls, longer and longer, so that an idle program costs
// little. (No network has anything to wait on so far.) An exception of progress is logged: a peer
// that has failed is known to the runtime then, as ever.
class progress_thread {
 public:
  explicit progress_thread(device_impl_t& device);
  // Waits for its end.
  ~progress_thread();
  progress_thread(const progress_thread&) = delete;
  progress_thread& operator=(const progress_thread&) = delete;

 private:
  void run();
  bool moves();

  device_impl_t& device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;   // guarded by mutex_
  std::thread thread_;  // last: it uses the others
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_PROGRESS_THREAD_H_
