#include "benchmarks/lci2/pairs.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "lci.hpp"

namespace lci2 {
namespace {

constexpr size_t page = 4096;
constexpr size_t cache_line = 64;
constexpr int most_checked = 64;                   // messages of a checked round
constexpr size_t checked_bytes = size_t{1} << 20;  // of a checked round, unless one has more

[[noreturn, gnu::noinline, gnu::cold]] void fail(const std::string& text) {
  std::fprintf(stderr, "lci2_pairs: rank %d: %s\n", lci::get_rank_me(), text.c_str());
  std::fflush(nullptr);
  // Other threads of this rank wait for messages. lcrun ends the other rank.
  std::_Exit(EXIT_FAILURE);
}

double now_us() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// ---- processors ---------------------------------------------------------------------------------

// The processors that this process may use: first one of each core, then the others.
std::vector<int> usable_processors() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return {};
  std::vector<int> first;
  std::vector<int> others;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    std::ifstream siblings("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                           "/topology/thread_siblings_list");
    int leader = cpu;
    if (!(siblings >> leader)) leader = cpu;
    const bool leads = leader == cpu || leader < 0 || !CPU_ISSET(leader, &allowed);
    (leads ? first : others).push_back(cpu);
  }
  first.insert(first.end(), others.begin(), others.end());
  return first;
}

// Binds the calling thread. Ranks of one host share its processors. Throws std::runtime_error.
void bind_thread(const std::vector<int>& processors, int position, int all) {
  const int count = static_cast<int>(processors.size());
  if (count == 0) throw std::runtime_error("--bind core: the usable processors are unknown");
  const int place = all <= count ? position : static_cast<int>(int64_t{position} * count / all);
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processors[static_cast<size_t>(place)], &set);
  if (sched_setaffinity(0, sizeof(set), &set) != 0) {
    throw std::runtime_error("--bind core: a thread can't be bound; --bind none does without");
  }
}

bool ranks_share_host() {
  char names[2][256] = {};
  char own[256] = {};
  gethostname(own, sizeof(own) - 1);
  lci::allgather(own, names, sizeof(own));
  return std::strncmp(names[0], names[1], sizeof(own)) == 0;
}

// ---- threads ------------------------------------------------------------------------------------

// A barrier of the threads of this rank. Threads that wait yield, since a rank may have more threads
// than processors.
class thread_barrier {
 public:
  explicit thread_barrier(int threads) : threads_(threads) {}

  void wait() {
    const int round = round_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      return;
    }
    while (round_.load(std::memory_order_acquire) == round) sched_yield();
  }

 private:
  const int threads_;
  std::atomic<int> arrived_{0};
  std::atomic<int> round_{0};
};

// ---- completions --------------------------------------------------------------------------------

// Counts the completions of one thread's operations, or of the messages that it receives, through
// completion objects of one kind. The thread calls all functions but signal().
class completions {
 public:
  // at_once: operations that may be under way at a time. is_private: only the thread itself makes
  // the progress that signals its handler.
  completions(completion_kind kind, size_t at_once, bool is_private, lci::comp_t handler)
      : kind_(kind), is_private_(is_private) {
    switch (kind) {
      case completion_kind::queue:
        object_ = lci::alloc_cq();
        break;
      case completion_kind::handler:
        object_ = handler;
        break;
      case completion_kind::sync:
        for (size_t i = 0; i < at_once; ++i) syncs_.push_back(lci::alloc_sync());
        is_pending_.resize(at_once);
        break;
    }
  }
  ~completions() {
    if (kind_ == completion_kind::queue) lci::free_comp(&object_);
    for (lci::comp_t& sync : syncs_) lci::free_comp(&sync);
  }
  completions(const completions&) = delete;
  completions& operator=(const completions&) = delete;

  // The object of the next operation.
  lci::comp_t object() const {
    return kind_ == completion_kind::sync ? syncs_[issued_ % syncs_.size()] : object_;
  }
  // After each operation was posted.
  void note(bool is_done) {
    if (kind_ == completion_kind::sync) {
      is_pending_[issued_ % syncs_.size()] = !is_done;
      ++issued_;
    } else if (is_done) {
      ++counted_;
    }
  }

  // Completions so far; a queue or synchronizers are read until `limit` completions have been
  // counted. look_at(status) is called for each that they report.
  template <class LookAt>
  uint64_t count(uint64_t limit, const LookAt& look_at) {
    switch (kind_) {
      case completion_kind::queue:
        while (counted_ < limit) {
          const lci::status_t status = lci::cq_pop(object_);
          if (status.is_retry()) break;
          look_at(status);
          ++counted_;
        }
        return counted_;
      case completion_kind::handler:
        return counted_ + signaled_.load(std::memory_order_acquire);
      case completion_kind::sync:
        // The oldest operation is first; operations with one tag complete in this order.
        for (; counted_ < std::min(limit, issued_); ++counted_) {
          const size_t oldest = counted_ % syncs_.size();
          if (!is_pending_[oldest]) continue;
          lci::status_t status;
          if (!lci::sync_test(syncs_[oldest], &status)) break;
          look_at(status);
        }
        return counted_;
    }
    return counted_;
  }

  // A handler has run, on any thread.
  void signal() {
    if (is_private_) {
      signaled_.store(signaled_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    } else {
      signaled_.fetch_add(1, std::memory_order_release);
    }
  }

 private:
  const completion_kind kind_;
  const bool is_private_;
  lci::comp_t object_;
  std::vector<lci::comp_t> syncs_;  // used in turn
  std::vector<char> is_pending_;    // of each: its operation was posted, and not done at once
  uint64_t issued_ = 0;             // sync: operations posted
  uint64_t counted_ = 0;            // queue, sync: completions; handler: operations done at once
  std::atomic<uint64_t> signaled_{0};
};

// ---- one thread ---------------------------------------------------------------------------------

constexpr uint64_t no_limit = ~uint64_t{0};

// What all threads of a rank share. `rank` and `peer` are of this job of two ranks.
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
        posts_(the_job.chosen.completion, at_once(), is_private(), the_job.on_local),
        arrivals_(the_job.chosen.completion, at_once(), is_private(), the_job.on_message) {
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

  // ---- handlers
  void handle_message(const lci::status_t& status) {
    look_at_message(status);
    arrivals_.signal();
  }
  void add_credits(uint64_t messages) { credits_.fetch_add(messages, std::memory_order_release); }
  void add_finish() { finishes_.fetch_add(1, std::memory_order_release); }

  // ---- runs
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
  size_t at_once() const { return std::max(static_cast<size_t>(window_), slots_); }
  bool is_private() const { return owns_device_ || job_.chosen.threads == 1; }
  size_t size() const { return size_.load(std::memory_order_relaxed); }
  // Of a run of n messages, those that come to this rank.
  uint64_t messages_here(uint64_t n) const {
    return test_ == test_kind::latency || job_.rank == 1 ? n : 0;
  }
  void progress() { lci::progress_x().device(device_)(); }
  template <class Done>
  void wait_until(const Done& done) {
    while (!done()) progress();
  }

  // ---- operations
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

  // ---- patterns
  void ping_pong(uint64_t n, std::vector<double>* round_trips) {
    uint64_t wanted = first_arrival_;
    double begin = round_trips == nullptr ? 0 : now_us();
    for (uint64_t i = 0; i < n; ++i) {
      if (job_.rank == 0) post(0);
      ++wanted;
      wait_until([&] { return arrived(wanted) >= wanted; });
      post_next_receive();
      if (job_.rank == 1) post(0);
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

  // ---- checked messages
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

// ---- handlers -----------------------------------------------------------------------------------

// By thread. Handlers find their endpoint by the tag.
std::vector<std::unique_ptr<endpoint>> endpoints;

// Of a message that this rank sent.
void handle_local(lci::status_t status) {
  if (!status.is_done()) fail("an operation failed");
  static_cast<completions*>(status.user_context)->signal();
}
void handle_message(lci::status_t status) {
  endpoints[status.tag >> slot_bits]->handle_message(status);
}
void handle_credit(lci::status_t status) {
  endpoints[status.tag & 0xffff]->add_credits(status.tag >> 16);
  std::free(status.buffer);
}
void handle_finish(lci::status_t status) {
  endpoints[status.tag & 0xffff]->add_finish();
  std::free(status.buffer);
}

// ---- the measurement ----------------------------------------------------------------------------

// The value of each rank, in the order of the ranks.
template <class T>
std::array<T, 2> of_both(T own) {
  std::array<T, 2> all;
  lci::allgather(&own, all.data(), sizeof(own));
  return all;
}

class measurement {
 public:
  measurement(const options& chosen, size_t seed)
      : options_(chosen),
        processors_(usable_processors()),
        all_threads_((ranks_share_host() ? 2 : 1) * chosen.threads),
        first_thread_(all_threads_ > chosen.threads ? lci::get_rank_me() * chosen.threads : 0),
        barrier_(chosen.threads),
        on_local_(lci::alloc_handler(handle_local)),
        on_message_(lci::alloc_handler(handle_message)),
        on_credit_(lci::alloc_handler(handle_credit)),
        on_finish_(lci::alloc_handler(handle_finish)),
        job_{chosen, lci::get_rank_me(), 1 - lci::get_rank_me(), seed, on_local_, on_message_, 0, 0,
             0},
        results_(static_cast<size_t>(chosen.threads)) {
    endpoints.resize(results_.size());
    // Devices of two ranks belong together by the order of their allocation, so one thread allocates
    // them all.
    if (!chosen.own_devices || chosen.threads == 1) return;
    for (int thread = 0; thread < chosen.threads; ++thread) devices_.push_back(lci::alloc_device());
  }
  ~measurement() {
    lci::barrier();  // the other rank may use memory of this one until it has come here
    endpoints.clear();
    for (lci::device_t& device : devices_) lci::free_device(&device);
    for (lci::comp_t* one : {&on_local_, &on_message_, &on_credit_, &on_finish_}) {
      lci::free_comp(one);
    }
  }
  measurement(const measurement&) = delete;
  measurement& operator=(const measurement&) = delete;

  void run() {
    std::vector<std::thread> others;
    for (int thread = 1; thread < options_.threads; ++thread) {
      others.emplace_back([this, thread] { run_thread(thread); });
    }
    run_thread(0);
    for (std::thread& other : others) other.join();
  }

 private:
  void run_thread(int thread) {
    try {
      if (options_.bind) bind_thread(processors_, first_thread_ + thread, all_threads_);
      const auto at = static_cast<size_t>(thread);
      const bool owns_device = !devices_.empty();
      const lci::device_t device = owns_device ? devices_[at] : lci::get_default_device();
      endpoints[at] = std::make_unique<endpoint>(job_, thread, device, owns_device);
      meet(thread, [this] { connect(); });
      for (const size_t size : options_.sizes) measure(thread, size);
    } catch (const std::exception& error) {
      fail(error.what());
    }
  }

  // All threads of both ranks; meanwhile thread 0 calls a function.
  template <class Function>
  void meet(int thread, const Function& function) {
    barrier_.wait();
    if (thread == 0) {
      function();
      lci::barrier();
    }
    barrier_.wait();
  }
  void meet(int thread) {
    meet(thread, [] {});
  }

  // Makes names and memory known to the other rank. Both ranks register in the same order, so the
  // names are the same.
  void connect() {
    const size_t count = endpoints.size();
    std::vector<lci::rmr_t> own;
    for (const std::unique_ptr<endpoint>& one : endpoints) {
      const lci::rcomp_t name = lci::register_rcomp(
          options_.completion == completion_kind::queue ? one->arrival_object() : on_message_);
      if (own.empty()) job_.message_names = name;
      own.push_back(one->rmr());
    }
    job_.credit_name = lci::register_rcomp(on_credit_);
    job_.finish_name = lci::register_rcomp(on_finish_);
    std::vector<lci::rmr_t> everybody(2 * count);
    lci::allgather(own.data(), everybody.data(), count * sizeof(lci::rmr_t));
    const size_t first = count * static_cast<size_t>(job_.peer);
    for (size_t i = 0; i < count; ++i) endpoints[i]->set_peer_rmr(everybody[first + i]);
  }

  void measure(int thread, size_t size) {
    const auto at = static_cast<size_t>(thread);
    endpoint& own = *endpoints[at];
    const auto in_messages = [this](uint64_t iterations) {
      return iterations * static_cast<uint64_t>(options_.window);
    };
    const uint64_t n = in_messages(iterations_for(options_, size));
    own.set_size(size);
    meet(thread);
    const uint64_t checked = own.check(options_.checked_rounds);
    thread_result unused;
    run_once(thread, in_messages(warmup_for(options_, size)), false, &unused);
    run_once(thread, n, false, &results_[at].whole);
    thread_result sampled;
    if (options_.test == test_kind::latency) run_once(thread, n, true, &sampled);
    results_[at].checked = checked;
    results_[at].round_trips = std::move(sampled.round_trips);
    meet(thread, [&] { report(size, n); });
  }

  void run_once(int thread, uint64_t n, bool samples, thread_result* result) {
    endpoint& own = *endpoints[static_cast<size_t>(thread)];
    own.prepare(n);
    meet(thread);
    own.run(n, samples, result);
  }

  struct figures {
    size_t size = 0;
    uint64_t iterations = 0;
    uint64_t messages = 0;
    uint64_t checked = 0;
    double messages_per_s = 0;
    double latency_us_mean = 0;
    double latency_us_p50 = 0;
  };

  // Brings the results of all threads of both ranks together, and prints them.
  void report(size_t size, uint64_t n) {
    struct totals {
      double longest;  // microseconds
      double times;    // the sum of those of all threads
      uint64_t messages;
      uint64_t checked;
    };
    totals own = {};
    double begin = results_[0].whole.begin;
    double end = results_[0].whole.end;
    std::vector<double> round_trips;
    for (const results& one : results_) {
      begin = std::min(begin, one.whole.begin);
      end = std::max(end, one.whole.end);
      own.times += one.whole.end - one.whole.begin;
      own.messages += one.whole.messages;
      own.checked += one.checked;
      round_trips.insert(round_trips.end(), one.round_trips.begin(), one.round_trips.end());
    }
    own.longest = end - begin;
    const std::array<totals, 2> both = of_both(own);
    if (job_.rank != 0) return;
    figures found;
    found.size = size;
    found.iterations = n / static_cast<uint64_t>(options_.window);
    found.messages = both[0].messages + both[1].messages;
    found.checked = both[0].checked + both[1].checked;
    const double seconds = std::max(both[0].longest, both[1].longest) / 1e6;
    found.messages_per_s = static_cast<double>(found.messages) / seconds;
    if (options_.test == test_kind::latency) {
      const double runs = 2.0 * static_cast<double>(options_.threads);
      found.latency_us_mean = (both[0].times + both[1].times) / runs / static_cast<double>(2 * n);
      const auto middle = round_trips.begin() + static_cast<std::ptrdiff_t>(round_trips.size() / 2);
      std::nth_element(round_trips.begin(), middle, round_trips.end());
      found.latency_us_p50 = *middle / 2;
    }
    print(found);
  }

  void print(const figures& found) {
    const bool has_latency = options_.test == test_kind::latency;
    const double bytes_per_s = found.messages_per_s * static_cast<double>(found.size);
    if (options_.json) {
      std::printf(
          R"({"op": "%s", "test": "%s", "size": %zu, "threads": %d, "devices": "%s", )"
          R"("ranks": 2, "completion": "%s", "window": %d, "iterations": %llu, "bind": "%s", )"
          R"("messages": %llu, "checked": %llu, )",
          name_of(options_.op), name_of(options_.test), found.size, options_.threads,
          options_.own_devices ? "dedicated" : "shared", name_of(options_.completion),
          options_.window, static_cast<unsigned long long>(found.iterations),
          options_.bind ? "core" : "none", static_cast<unsigned long long>(found.messages),
          static_cast<unsigned long long>(found.checked));
      if (has_latency) {
        std::printf(R"("latency_us_mean": %.6g, "latency_us_p50": %.6g, )", found.latency_us_mean,
                    found.latency_us_p50);
      }
      std::printf(R"("messages_per_s": %.1f, "bytes_per_s": %.1f})"
                  "\n",
                  found.messages_per_s, bytes_per_s);
    } else {
      if (!std::exchange(has_header_, true)) {
        std::printf("# lci2_pairs: %s of %s, completion %s, %d threads, %s devices, window %d\n",
                    name_of(options_.test), name_of(options_.op), name_of(options_.completion),
                    options_.threads, options_.own_devices ? "dedicated" : "shared",
                    options_.window);
        std::printf("# %-8s%12s%12s%16s%16s\n", "Size", "Mean, us", "Median, us", "Messages/s",
                    "Bytes/s");
      }
      const std::string mean = has_latency ? std::to_string(found.latency_us_mean) : "-";
      const std::string median = has_latency ? std::to_string(found.latency_us_p50) : "-";
      std::printf("%-10zu%12s%12s%16.0f%16.0f\n", found.size, mean.c_str(), median.c_str(),
                  found.messages_per_s, bytes_per_s);
    }
    std::fflush(stdout);
  }

  struct results {
    thread_result whole;
    std::vector<double> round_trips;
    uint64_t checked = 0;
  };

  const options& options_;
  const std::vector<int> processors_;
  const int all_threads_;   // on this host
  const int first_thread_;  // of this rank, among them
  thread_barrier barrier_;
  lci::comp_t on_local_;
  lci::comp_t on_message_;
  lci::comp_t on_credit_;
  lci::comp_t on_finish_;
  job job_;
  std::vector<results> results_;        // of each thread of this rank
  std::vector<lci::device_t> devices_;  // the same; empty: all threads share one
  bool has_header_ = false;
};

// Why this job can't be measured; empty: it can. The same in all ranks.
std::string problem_of_job(const options& chosen) {
  const int ranks = lci::get_rank_n();
  if (ranks != 2) {
    return "started with " + std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks") +
           ", but it measures two: lcrun -n 2 lci2_pairs";
  }
  const std::array<size_t, 2> options_of = of_both(std::hash<std::string>()(describe(chosen)));
  return options_of[0] == options_of[1] ? "" : "the ranks were started with different options";
}

// Rank 0 prints, and the other ranks exit after it.
void print_and_meet(std::FILE* to, const std::string& text) {
  if (lci::get_rank_me() == 0) {
    std::fputs(text.c_str(), to);
    std::fflush(to);
  }
  lci::barrier();
}

}  // namespace

int run_main(const std::function<int()>& body) {
  try {
    return body();
  } catch (const lci::cli::usage_error& error) {
    lci::g_runtime_init();
    print_and_meet(stderr, std::string("lci2_pairs: ") + error.what() + "\n");
    lci::g_runtime_fina();
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lci2_pairs: %s\n", error.what());
    return EXIT_FAILURE;
  }
}

int print_once(const std::string& text) {
  lci::g_runtime_init();
  print_and_meet(stdout, text);
  lci::g_runtime_fina();
  return 0;
}

int run_pairs(const options& chosen, bool seed_of_rank) {
  lci::g_runtime_init();
  const std::string problem = problem_of_job(chosen);
  if (problem.empty()) {
    const int seed = seed_of_rank ? lci::get_rank_me() : 0;
    measurement(chosen, static_cast<size_t>(seed)).run();
  } else {
    print_and_meet(stderr, "lci2_pairs: " + problem + "\n");
  }
  lci::g_runtime_fina();
  return problem.empty() ? 0 : 2;
}

}  // namespace lci2
