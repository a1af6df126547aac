// A thread's connection with the thread of the same number of the other rank.
#ifndef BENCHMARKS_LCI2_ENDPOINT_H_
#define BENCHMARKS_LCI2_ENDPOINT_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "benchmarks/lci2/completions.h"
#include "benchmarks/lci2/options.h"
#include "lci.hpp"

namespace lci2 {

constexpr size_t page = 4096;
constexpr size_t cache_line = 64;
constexpr int most_checked = 64;                   // messages of a checked round
constexpr size_t checked_bytes = size_t{1} << 20;  // of a checked round, unless one has more

inline double now_us() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

constexpr uint64_t no_limit = ~uint64_t{0};

// State that all threads of a rank share. `rank` and `peer` are of this job of two ranks.
struct job {
  const options& chosen;
  const int rank;
  const int peer;
  const size_t seed;     // of the bytes of checked messages
  lci::comp_t on_local;  // handlers
  lci::comp_t on_message;
  lci::rcomp_t message_names;  // of thread 0; those of the other threads follow
  lci::rcomp_t credit_name;
  lci::rcomp_t finish_name;
};

struct thread_result {
  double begin = 0;  // microseconds
  double end = 0;
  std::vector<double> round_trips;
  uint64_t messages = 0;  // that arrived
};

// A thread's connection with the thread of the same number of the other rank.
//
// Thread safety: the thread calls all functions but those of handlers, which any thread calls.
class endpoint {
 public:
  // The device is one of its own if owns_device, else that of all threads.
  endpoint(const job& the_job, int thread, lci::device_t device, bool owns_device)
      : job_(the_job),
        op_(the_job.chosen.op),
        test_(the_job.chosen.test),
        window_(static_cast<uint64_t>(the_job.chosen.window)),
        thread_(static_cast<lci::tag_t>(thread)),
        owns_device_(owns_device),
        device_(device),
        stride_((the_job.chosen.sizes.back() + cache_line) / cache_line * cache_line),
        slots_(std::clamp(checked_bytes / stride_, size_t{1}, size_t{most_checked})),
        landing_((slots_ * stride_ + page - 1) / page * page),
        memory_(static_cast<char*>(std::aligned_alloc(page, 2 * landing_))),
        posts_(the_job.chosen.completion, max_pending(), is_private(), the_job.on_local),
        arrivals_(the_job.chosen.completion, max_pending(), is_private(), the_job.on_message) {
    if (memory_ == nullptr) throw std::runtime_error("no memory for messages of this --size");
    std::memset(memory_, 1, 2 * landing_);
    mr_ = lci::register_memory_x(memory_, 2 * landing_).device(device_)();
  }
  ~endpoint() {
    lci::deregister_memory(&mr_);
    std::free(memory_);
  }
  endpoint(const endpoint&) = delete;
  endpoint& operator=(const endpoint&) = delete;

  lci::comp_t arrival_object() const { return arrivals_.object(); }
  lci::rmr_t rmr() const { return lci::get_rmr(mr_); }
  void set_peer_rmr(const lci::rmr_t& rmr) { peer_rmr_ = rmr; }

  void handle_message(const lci::status_t& status) {
    look_at_message(status);
    arrivals_.signal();
  }
  void add_credits(uint64_t messages) { credits_.fetch_add(messages, std::memory_order_release); }
  void add_finish() { finishes_.fetch_add(1, std::memory_order_release); }

  // From now on, messages have this size. No message is under way.
  void set_size(size_t size) { size_.store(size, std::memory_order_relaxed); }

  // Exchanges messages whose bytes are checked, in rounds in each direction. Returns how many came
  // here.
  uint64_t check(uint64_t rounds) {
    const uint64_t before = arrived(no_limit);
    checks_.store(true, std::memory_order_relaxed);
    for (uint64_t round = 0; round < rounds; ++round) {
      round_.store(round, std::memory_order_relaxed);
      for (const int sender : {0, 1}) job_.rank == sender ? send_checked() : receive_checked();
    }
    finish();
    checks_.store(false, std::memory_order_relaxed);
    return arrived(no_limit) - before;
  }

  // Before a run of n messages in each direction that the test has. The other rank begins when both
  // have done this.
  void prepare(uint64_t n) {
    first_arrival_ = arrived(no_limit);
    receives_left_ = op_ == operation::send ? messages_here(n) : 0;
    for (uint64_t i = 0; i < window_; ++i) post_next_receive();
  }

  // The run, between two readings of the clock.
  void run(uint64_t n, bool samples, thread_result* result) {
    if (samples) result->round_trips.reserve(n);
    result->begin = now_us();
    if (test_ == test_kind::latency) {
      ping_pong(n, samples ? &result->round_trips : nullptr);
    } else if (job_.rank == 0) {
      send_stream(n);
    } else {
      receive_stream(n);
    }
    result->end = now_us();
    finish();
    result->messages = arrived(no_limit) - first_arrival_;
    if (result->messages == messages_here(n)) return;
    fail("wrong count: " + std::to_string(result->messages) + " messages of " +
         std::to_string(size()) + " bytes came, not " + std::to_string(messages_here(n)));
  }

 private:
  size_t max_pending() const { return std::max(static_cast<size_t>(window_), slots_); }
  bool is_private() const { return owns_device_ || job_.chosen.threads == 1; }
  size_t size() const { return size_.load(std::memory_order_relaxed); }
  // Of a run of n messages, the number that arrives at this rank.
  uint64_t messages_here(uint64_t n) const {
    return test_ == test_kind::latency || job_.rank == 1 ? n : 0;
  }
  void progress() { lci::progress_x().device(device_)(); }
  template <class Done>
  void wait_until(const Done& done) {
    while (!done()) progress();
  }

  // Without checks, all messages use slot 0.
  char* source(size_t slot) const { return memory_ + slot * stride_; }
  char* landing(size_t slot) const { return memory_ + landing_ + slot * stride_; }
  lci::tag_t tag_of(size_t slot) const { return thread_ << slot_bits | slot; }

  lci::status_t try_post(size_t slot) {
    const lci::comp_t comp = posts_.object();
    const lci::rcomp_t name = job_.message_names + static_cast<lci::rcomp_t>(thread_);
    switch (op_) {
      case operation::am:
        return lci::post_am_x(job_.peer, source(slot), size(), comp, name)
            .device(device_)
            .tag(tag_of(slot))
            .user_context(&posts_)();
      case operation::send:
        return lci::post_send_x(job_.peer, source(slot), size(), tag_of(slot), comp)
            .device(device_)
            .user_context(&posts_)();
      case operation::put_signal:
        return lci::post_put_x(job_.peer, source(slot), size(), comp, landing_ + slot * stride_,
                               peer_rmr_)
            .device(device_)
            .mr(mr_)
            .tag(tag_of(slot))
            .remote_comp(name)
            .user_context(&posts_)();
    }
    fail("no such operation");
  }

  void post(size_t slot) {
    lci::status_t status = try_post(slot);
    while (status.is_retry()) {
      progress();
      status = try_post(slot);
    }
    posts_.note(status.is_done());
    ++posted_;
  }

  void post_receive(size_t slot) {
    const auto receive =
        lci::post_recv_x(job_.peer, landing(slot), size(), tag_of(slot), arrivals_.object())
            .device(device_);
    lci::status_t status = receive();
    while (status.is_retry()) {
      progress();
      status = receive();
    }
    if (status.is_done()) look_at_message(status);
    arrivals_.note(status.is_done());
  }
  void post_next_receive() {
    if (receives_left_ == 0) return;
    --receives_left_;
    post_receive(0);
  }

  // To a handler of the other rank.
  void notify(lci::rcomp_t name, uint64_t messages) {
    const auto message =
        lci::post_am_x(job_.peer, nullptr, 0, lci::COMP_NULL_EXPECT_DONE_OR_RETRY, name)
            .device(device_)
            .tag(messages << 16 | thread_);
    while (message().is_retry()) progress();
  }

  // Of all operations of this thread so far.
  uint64_t sent() {
    return posts_.count(no_limit, [](const lci::status_t& status) {
      if (!status.is_done()) fail("an operation failed");
    });
  }
  // Of all messages to this thread so far.
  uint64_t arrived(uint64_t limit) {
    return arrivals_.count(limit, [this](const lci::status_t& s) { look_at_message(s); });
  }
  uint64_t credits() const { return credits_.load(std::memory_order_acquire) - used_credits_; }

  void look_at_message(const lci::status_t& status) {
    if (!status.is_done()) fail("a message failed");
    if (checks_.load(std::memory_order_relaxed)) check_message(status);
    if (op_ == operation::am) std::free(status.buffer);
  }

  void ping_pong(uint64_t n, std::vector<double>* round_trips) {
    uint64_t wanted = first_arrival_;
    double begin = round_trips == nullptr ? 0 : now_us();
    for (uint64_t i = 0; i < n; ++i) {
      // The next receive follows the send, as in programs with blocking sends and receives.
      if (job_.rank == 0) {
        post(0);
        if (i > 0) post_next_receive();
      }
      ++wanted;
      wait_until([&] { return arrived(wanted) >= wanted; });
      if (job_.rank == 1) {
        post(0);
        post_next_receive();
      }
      wait_until([this] { return sent() >= posted_; });
      if (round_trips == nullptr || job_.rank == 1) continue;
      const double end = now_us();
      round_trips->push_back(end - begin);
      begin = end;
    }
  }

  void send_stream(uint64_t n) {
    const uint64_t first = posted_;
    uint64_t complete = sent();
    for (uint64_t i = 0; i < n; ++i) {
      wait_until([&] {
        if (posted_ - complete >= window_) complete = sent();
        return posted_ - complete < window_ && posted_ - first - credits() < window_;
      });
      post(0);
    }
    wait_until([&] { return sent() >= posted_ && credits() >= n; });
    used_credits_ += n;
  }

  // Gives a credit for each message, half a window of them at a time.
  void receive_stream(uint64_t n) {
    const uint64_t at_a_time = (window_ + 1) / 2;
    uint64_t taken = 0;
    for (uint64_t credited = 0; credited < n;) {
      const uint64_t wanted = std::min(credited + at_a_time, n);
      while (taken < wanted) {
        progress();
        const uint64_t here = arrived(first_arrival_ + wanted) - first_arrival_;
        for (; taken < here; ++taken) post_next_receive();
      }
      notify(job_.credit_name, taken - credited);
      credited = taken;
    }
  }

  // Waits until the other rank's thread has come here, too.
  void finish() {
    notify(job_.finish_name, 0);
    ++finishes_wanted_;
    wait_until([this] { return finishes_.load(std::memory_order_acquire) >= finishes_wanted_; });
    // No other thread may poll this device.
    wait_until([this] { return lci::test_drained_x().device(device_)().is_done(); });
  }

  // Checked messages.
  char byte(int rank, size_t slot, size_t i) const {
    const uint64_t number = round_.load(std::memory_order_relaxed) * slots_ + slot;
    return static_cast<char>(131 * number + 17 * static_cast<size_t>(rank) + 29 * thread_ + i +
                             i / 256 + job_.seed);
  }

  void send_checked() {
    wait_until([this] { return credits() > 0; });
    ++used_credits_;
    for (size_t slot = 0; slot < slots_; ++slot) {
      for (size_t i = 0; i < size(); ++i) source(slot)[i] = byte(job_.rank, slot, i);
      post(slot);
    }
    wait_until([this] { return sent() >= posted_; });
  }

  // A credit states that this rank is ready.
  void receive_checked() {
    const uint64_t wanted = arrived(no_limit) + slots_;
    seen_.store(0, std::memory_order_relaxed);
    for (size_t slot = 0; op_ == operation::send && slot < slots_; ++slot) post_receive(slot);
    notify(job_.credit_name, 1);
    wait_until([&] { return arrived(wanted) >= wanted; });
  }

  [[gnu::noinline]] void check_message(const lci::status_t& status) {
    const size_t slot = status.tag % max_window;
    const bool has_size = op_ != operation::put_signal;
    if (status.rank != job_.peer || status.tag >> slot_bits != thread_ || slot >= slots_ ||
        (has_size && status.size != size())) {
      fail("wrong message: tag " + std::to_string(status.tag) + ", " + std::to_string(status.size) +
           " bytes from rank " + std::to_string(status.rank) + " came to thread " +
           std::to_string(thread_) + ", which expects " + std::to_string(size()) + " bytes");
    }
    const uint64_t bit = uint64_t{1} << slot;
    if ((seen_.fetch_or(bit, std::memory_order_relaxed) & bit) != 0) {
      fail("wrong message: message " + std::to_string(slot) + " came twice");
    }
    const char* const found =
        op_ == operation::am ? static_cast<const char*>(status.buffer) : landing(slot);
    for (size_t i = 0; i < size(); ++i) {
      if (found[i] == byte(job_.peer, slot, i)) continue;
      fail("wrong data: message " + std::to_string(slot) + " of " + std::to_string(size()) +
           " bytes to thread " + std::to_string(thread_) + ": byte " + std::to_string(i) + " is " +
           std::to_string(found[i]) + ", not " + std::to_string(byte(job_.peer, slot, i)));
    }
  }

  const job& job_;
  const operation op_;
  const test_kind test_;
  const uint64_t window_;
  const lci::tag_t thread_;
  const bool owns_device_;
  const lci::device_t device_;
  const size_t stride_;   // of slots
  const size_t slots_;    // messages of a checked round
  const size_t landing_;  // offset of the slots that messages land in
  char* const memory_;
  lci::mr_t mr_;
  lci::rmr_t peer_rmr_;
  completions posts_;
  completions arrivals_;
  uint64_t posted_ = 0;
  uint64_t first_arrival_ = 0;  // of the run
  uint64_t receives_left_ = 0;
  uint64_t used_credits_ = 0;
  uint64_t finishes_wanted_ = 0;

  // Read or written by handlers, on any thread. Messages of the other rank are ordered behind a
  // change by the credit or the barrier that permits them.
  std::atomic<size_t> size_{0};
  std::atomic<bool> checks_{false};
  std::atomic<uint64_t> round_{0};
  std::atomic<uint64_t> seen_{0};  // a bit for each message of the round
  std::atomic<uint64_t> credits_{0};
  std::atomic<uint64_t> finishes_{0};
};

}  // namespace lci2

#endif  // BENCHMARKS_LCI2_ENDPOINT_H_
