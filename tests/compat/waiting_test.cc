// Threads that wait as clients do: progress and a look at the completion object, in a loop that
// never gives the processor away. There are more of them than processors, and what each waits for
// is sent by one that has to run for it.
#include <atomic>
#include <string>
#include <thread>

#include "check.h"

namespace {

constexpr int kThreads = 3;  // of each rank
constexpr int kRounds = 30;

// One thread of this rank exchanges messages with the thread of the same number of both neighbors.
struct worker_t {
  int number;
  lci::device_t device;  // empty: the default one

  void progress() const {
    if (device.is_empty()) {
      lci::progress();
    } else {
      lci::progress_x().device(device)();
    }
  }
  lci::device_t get_device() const {
    return device.is_empty() ? lci::get_default_device() : device;
  }
  // Messages of one tag may overtake each other.
  lci::tag_t get_tag(int64_t round) const {
    return static_cast<lci::tag_t>(round * kThreads + number);
  }

  template <class Op>
  lci::status_t post(const Op& op) const {
    lci::status_t status;
    do {
      status = op();
      if (status.is_retry()) progress();
    } while (status.is_retry());
    return status;
  }

  // Posts a receive and the send, and returns how many of them signal comp: both, if the send is
  // not allowed to be done at once.
  int exchange(int64_t round, int64_t* in, int64_t* out, lci::comp_t comp,
               bool allow_done = true) const {
    const auto recv =
        lci::post_recv_x(compat::previous_rank(), in, sizeof(*in), get_tag(round), comp)
            .device(get_device())
            .allow_done(false);
    EXPECT(post(recv).is_posted());
    const lci::status_t sent =
        post(lci::post_send_x(compat::next_rank(), out, sizeof(*out), get_tag(round), comp)
                 .device(get_device())
                 .allow_done(allow_done));
    return sent.is_posted() ? 2 : 1;
  }
  void check(int64_t in, int64_t round) const {
    EXPECT_EQ(in, round * 100 + compat::previous_rank());
  }

  void wait_for_sync() const {
    lci::comp_t sync = lci::alloc_sync_x().threshold(2)();
    for (int64_t round = 0; round < kRounds; ++round) {
      int64_t in = -1;
      int64_t out = round * 100 + lci::get_rank_me();
      EXPECT_EQ(exchange(round, &in, &out, sync, false), 2);
      while (!lci::sync_test(sync, nullptr)) progress();
      check(in, round);
    }
    lci::free_comp(&sync);
  }
  void wait_for_cq() const {
    lci::comp_t cq = lci::alloc_cq();
    for (int64_t round = 0; round < kRounds; ++round) {
      int64_t in = -1;
      int64_t out = round * 100 + lci::get_rank_me();
      for (int left = exchange(round, &in, &out, cq); left > 0; --left) {
        while (lci::cq_pop(cq).is_retry()) progress();
      }
      check(in, round);
    }
    lci::free_comp(&cq);
  }
  void wait_for_counter() const {
    lci::comp_t counter = lci::alloc_counter();
    for (int64_t round = 0; round < kRounds; ++round) {
      int64_t in = -1;
      int64_t out = round * 100 + lci::get_rank_me();
      const int signals = exchange(round, &in, &out, counter);
      while (lci::counter_get(counter) < signals) progress();
      lci::counter_set(counter, 0);
      check(in, round);
    }
    lci::free_comp(&counter);
  }
  // An own class; its signal is what a handler is.
  void wait_for_own_comp() const {
    struct flags_t : lci::comp_impl_t {
      std::atomic<int> signals{0};
      void signal(lci::status_t status) override {
        EXPECT(status.is_done());
        signals.fetch_add(1);
      }
    };
    flags_t own;
    for (int64_t round = 0; round < kRounds; ++round) {
      int64_t in = -1;
      int64_t out = round * 100 + lci::get_rank_me();
      const int signals = exchange(round, &in, &out, lci::comp_t(&own));
      while (own.signals.load() < signals) progress();
      own.signals = 0;
      check(in, round);
    }
  }
  void wait_for_handler() const {
    static std::atomic<int> signals[kThreads];
    lci::comp_t handler = lci::alloc_handler(
        [](lci::status_t status) { signals[status.get_tag() % kThreads].fetch_add(1); });
    for (int64_t round = 0; round < kRounds; ++round) {
      int64_t in = -1;
      int64_t out = round * 100 + lci::get_rank_me();
      const int expected = exchange(round, &in, &out, handler);
      while (signals[number].load() < expected) progress();
      signals[number] = 0;
      check(in, round);
    }
    lci::free_comp(&handler);
  }
};

void in_threads(const std::vector<lci::device_t>& devices, void (worker_t::*body)() const) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&devices, body, i] {
      const worker_t worker = {i,
                               devices.empty() ? lci::device_t() : devices[static_cast<size_t>(i)]};
      (worker.*body)();
    });
  }
  for (std::thread& each : threads) each.join();
}

// Some threads post, one makes progress, all of them without rest.
void test_progress_thread() {
  std::atomic<bool> stop{false};
  std::thread progressing([&stop] {
    while (!stop.load()) lci::progress();
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([i] {
      lci::comp_t sync = lci::alloc_sync_x().threshold(2)();
      for (int64_t round = 0; round < kRounds; ++round) {
        int64_t in = -1;
        int64_t out = round;
        const lci::tag_t tag = static_cast<lci::tag_t>(round * kThreads + i);
        while (lci::post_recv_x(compat::previous_rank(), &in, sizeof(in), tag, sync)
                   .allow_done(false)()
                   .is_retry()) {
          continue;
        }
        while (lci::post_send_x(compat::next_rank(), &out, sizeof(out), tag, sync)
                   .allow_done(false)()
                   .is_retry()) {
          continue;
        }
        lci::status_t statuses[2];
        while (!lci::sync_test(sync, statuses)) continue;
        EXPECT_EQ(in, round);
      }
      lci::free_comp(&sync);
    });
  }
  for (std::thread& each : threads) each.join();
  stop = true;
  progressing.join();
}

// sync_wait with the options that say who makes progress.
void test_sync_wait() {
  lci::comp_t sync = lci::alloc_sync();
  lci::device_t device = lci::get_default_device();
  for (int i = 0; i < 10; ++i) {
    int64_t in = -1;
    int64_t out = i;
    const lci::status_t received =
        lci::post_recv_x(compat::previous_rank(), &in, sizeof(in), 300, sync).allow_done(false)();
    EXPECT(received.is_posted());
    EXPECT(!compat::post(
                lci::post_send_x(compat::next_rank(), &out, sizeof(out), 300, lci::COMP_NULL_RETRY))
                .is_posted());
    lci::status_t status;
    if (i % 2 == 0) {
      lci::sync_wait(sync, &status);
    } else {
      lci::sync_wait_x(sync, &status).do_progress(true).device(device)();
    }
    EXPECT_EQ(in, i);
    EXPECT_EQ(status.get_tag(), 300u);
  }
  // Signaled already: nobody needs to make progress.
  lci::comp_signal(sync, lci::errorcode_t::done);
  lci::sync_wait_x(sync, nullptr).do_progress(false)();
  lci::free_comp(&sync);
}

void test() {
  lci::g_runtime_init();
  std::vector<lci::device_t> devices;
  for (const bool own : {false, true}) {
    if (own) {
      for (int i = 0; i < kThreads; ++i) devices.push_back(lci::alloc_device());
    }
    in_threads(devices, &worker_t::wait_for_sync);
    in_threads(devices, &worker_t::wait_for_cq);
    in_threads(devices, &worker_t::wait_for_counter);
    in_threads(devices, &worker_t::wait_for_own_comp);
    in_threads(devices, &worker_t::wait_for_handler);
  }
  for (lci::device_t& each : devices) lci::free_device(&each);
  test_progress_thread();
  test_sync_wait();
  lci::barrier();
  lci::g_runtime_fina();
}

}  // namespace

int main() { return compat::run(test); }
