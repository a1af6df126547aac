// Runs a computation in phases: in each, all threads of all ranks send messages and handle those
// that come, and a phase ends when every message of it has been handled everywhere.
//
// How the end is found. Every rank counts the messages it sends to each other rank in a phase. When
// the last of its threads has had its last message accepted, the rank sends everybody a notice with
// the number of messages for them. A rank is through with the phase when it has a notice from every
// rank and has handled as many messages as they announce together: the numbers are final, each
// message is counted once on either side, so none can be under way to this rank. Messages and
// notices may arrive in any order, since the rank only waits for a sum. Until then its threads
// continue to handle messages, so nobody waits idly for slower ranks, and nobody's messages pile
// up. When all ranks are through (as a reduction over all says), the next phase begins; its
// messages may arrive while some thread has not yet noticed, and are handled at once.
//
// Failures end the phase for all ranks: the notice of a rank that failed says so and why, a rank
// that gets it stops producing, and the reduction at the end makes sure that all ranks agree.
#ifndef EXAMPLES_KMER_PHASES_H_
#define EXAMPLES_KMER_PHASES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "examples/kmer/exchange.h"

namespace kmer {

class phases {
 public:
  // Handles a message of a phase, in any thread; several run at the same time. May throw, which
  // fails the job.
  using handler = std::function<void(const message&)>;

  // `network` outlives this object. One handler a phase; all must be ready to run when the phase
  // before has ended, see run().
  phases(exchange* network, int threads, std::vector<handler> handlers);

  int rank() const { return network_->rank(); }
  int ranks() const { return network_->ranks(); }
  int threads() const { return threads_; }

  // Runs the next phase: work(thread) in `threads` threads. The calling thread is number 0. The
  // work returns when this thread has nothing more to send; it calls send() and, if it computes for
  // long, serve(), and stops early when stopped(). An exception of the work fails the job. At the
  // end, when all messages to this rank have been handled, prepare() gets everything ready for
  // messages of the next phase. Returns false if any rank failed; then all ranks return false, and
  // no further phase may be run. Throws network_error when the other ranks can't be reached.
  bool run(const std::function<void(int thread)>& work, const std::function<void()>& prepare);

  // For the work.

  // Sends, serving meanwhile if the network is busy. The buffer as in exchange::try_send.
  void send(int thread, int to, message_buffer* buffer, size_t size);
  // Handles what has arrived and makes progress. True if there was anything.
  bool serve(int thread);
  // Some rank failed; there is no point in continuing.
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

  // Fails the job; the first reason given by a rank is the one that counts.
  void fail(const std::string& reason);
  // Why run() returned false: this rank's own reason, or another's with its number.
  std::string reason() const;

 private:
  // One phase's counters. They are separate for each phase, since messages of the next phase can
  // come before all threads have left this one.
  struct tally {
    std::vector<std::atomic<uint64_t>> sent;  // messages, by rank
    std::atomic<uint64_t> handled{0};
    std::atomic<uint64_t> announced{0};
    std::atomic<int> notices{0};
    std::atomic<int> producing{0};  // threads of this rank
  };
  struct notice;

  void run_thread(int thread, const std::function<void(int)>& work);
  void handle(const message& incoming);
  void send_notices(int thread);
  bool complete() const;
  void transmit(int thread, int to, uint64_t tag, message_buffer* buffer, size_t size);
  void stop(const std::string& reason, bool own);
  void break_off(const std::string& reason);

  exchange* const network_;
  const int threads_;
  const std::vector<handler> handlers_;
  std::vector<tally> tallies_;
  size_t phase_ = 0;              // changed between phases only, when there are no other threads
  std::atomic<size_t> ready_{0};  // the last phase whose messages may come
  std::atomic<bool> over_{false};
  std::atomic<bool> stopped_{false};
  std::atomic<bool> broken_{false};  // by a network_error
  mutable std::mutex reason_mutex_;
  std::string reason_;
  bool own_reason_ = false;
};

}  // namespace kmer

#endif  // EXAMPLES_KMER_PHASES_H_
