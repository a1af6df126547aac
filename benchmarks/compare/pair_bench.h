// The measurement that every program of the comparison makes between two ranks, over whatever
// transport it has.
//
// A transport is a class with
//   int rank() const;            0 or 1
//   void meet();                 thread 0 of both ranks calls it; it returns when both have
//   connection_t& connection(int thread);    what one thread uses
// and a connection with
//   void send(const char* data, size_t size);       blocks until data may be overwritten
//   void receive(char* data, size_t size);          blocks until the message is there
//   void start_sends(int half, const char* data, size_t size, int count);    count messages from
//   the same memory void finish_sends(int half);                    blocks until they are sent void
//   start_receives(int half, char* data, size_t size, int count);       count messages to the same
//   memory void finish_receives(int half);                 blocks until they are there void
//   answer(uint64_t value);                    from the receiver of such messages to their sender
//   uint64_t await_answer();                        blocks; the values come in order, none is left
//   out
//
// Latency is a ping-pong, each message with a number of its own that is looked at. Rate and
// bandwidth are measured as lci_perf does it: all messages of a size from one buffer into one
// buffer; the window goes in two halves, each answered when all of it has arrived, so that one half
// is on its way while the other is answered.
#ifndef BENCHMARKS_COMPARE_PAIR_BENCH_H_
#define BENCHMARKS_COMPARE_PAIR_BENCH_H_

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "benchmarks/compare/pair_options.h"
#include "benchmarks/perf/read_bytes.h"

namespace compare {

// A cheap clock, and what a tick of it is.
inline uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

inline double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Ticks in a second, found by waiting for 2 ms.
inline double ticks_per_second() {
  const double start = now_seconds();
  const uint64_t start_ticks = ticks();
  double elapsed = 0;
  while ((elapsed = now_seconds() - start) < 2e-3) {
  }
  return static_cast<double>(ticks() - start_ticks) / elapsed;
}

template <class Transport>
class pair_bench {
 public:
  pair_bench(Transport* transport, const options_t& options)
      : transport_(*transport),
        options_(options),
        ticks_per_second_(ticks_per_second()),
        threads_(static_cast<size_t>(options.threads)) {
    pthread_barrier_init(&barrier_, nullptr, static_cast<unsigned>(options.threads));
  }
  ~pair_bench() { pthread_barrier_destroy(&barrier_); }
  pair_bench(const pair_bench&) = delete;
  pair_bench& operator=(const pair_bench&) = delete;

  // Warms up, then measures, for the time that the options say. The result is rank 0's.
  result_t run() {
    // The first thread is the one that calls, as MPI without thread support demands.
    std::vector<std::thread> others;
    for (int t = 1; t < options_.threads; ++t) {
      others.emplace_back([this, t] { work(t); });
    }
    work(0);
    for (std::thread& other : others) {
      other.join();
    }
    result_t result;
    result.seconds = elapsed_;
    for (const thread_state& thread : threads_) {
      result.messages += thread.messages;
      for (const uint32_t round_trip : thread.round_trips) {
        result.one_way_us.push_back(static_cast<float>(round_trip / ticks_per_second_ / 2 * 1e6));
      }
    }
    return result;
  }

 private:
  using connection_t = std::remove_reference_t<decltype(std::declval<Transport&>().connection(0))>;

  struct alignas(128) thread_state {
    uint64_t messages = 0;              // of the last phase
    std::vector<uint32_t> round_trips;  // of the last phase, in ticks
  };

  // A page-aligned buffer that has been written to.
  class buffer {
   public:
    explicit buffer(size_t size)
        : data_(static_cast<char*>(operator new[](size, std::align_val_t{4096}))) {
      std::memset(data_, 1, size);
    }
    ~buffer() { operator delete[](data_, std::align_val_t{4096}); }
    buffer(const buffer&) = delete;
    buffer& operator=(const buffer&) = delete;
    char* get() { return data_; }

   private:
    char* data_;
  };

  // A message's first 8 bytes: its number, and whether this thread's phase ends with it.
  static constexpr uint64_t last_mark = uint64_t{1} << 63;

  static void stamp(char* message, uint64_t number) {
    std::memcpy(message, &number, sizeof number);
  }

  // Whether the message, which has to have this number, is marked as the last one.
  static bool check(const char* message, uint64_t number) {
    uint64_t found = 0;
    std::memcpy(&found, message, sizeof found);
    if ((found & ~last_mark) != number) {
      std::fprintf(stderr, "message %llu came where %llu was due\n",
                   static_cast<unsigned long long>(found & ~last_mark),
                   static_cast<unsigned long long>(number));
      std::_Exit(1);
    }
    return (found & last_mark) != 0;
  }

  void work(int thread) {
    if (options_.bind_core) {
      bind_thread(transport_.rank(), thread, options_.threads);
    }
    const bool latency = options_.test == test_t::latency;
    connection_t& connection = transport_.connection(thread);
    buffer out(options_.size);
    buffer in(options_.size);
    thread_state& state = threads_[static_cast<size_t>(thread)];
    uint64_t number = 1;  // of the next message; never 0; continues from phase to phase
    for (const double seconds : {options_.seconds / 5, options_.seconds}) {
      state.messages = 0;
      if (latency && transport_.rank() == 0) {
        // Writes to the memory now rather than while measuring.
        state.round_trips.assign(most_samples, 0);
        state.round_trips.clear();
      }
      pthread_barrier_wait(&barrier_);
      if (thread == 0) {
        transport_.meet();
        started_ = now_seconds();
        deadline_ = ticks() + static_cast<uint64_t>(seconds * ticks_per_second_);
      }
      pthread_barrier_wait(&barrier_);
      if (latency) {
        ping_pong(connection, out.get(), in.get(), &number, &state);
      } else {
        flood(connection, out.get(), in.get(), &state);
      }
      pthread_barrier_wait(&barrier_);
      if (thread == 0) {
        elapsed_ = now_seconds() - started_;
      }
    }
  }

  void ping_pong(connection_t& connection, char* out, char* in, uint64_t* number,
                 thread_state* state) {
    const size_t size = options_.size;
    if (transport_.rank() == 1) {
      for (bool last = false; !last; ++*number) {
        connection.receive(in, size);
        if (options_.read) perf::read_bytes(in, size);
        last = check(in, *number);
        stamp(out, *number);
        connection.send(out, size);
      }
      return;
    }
    uint64_t start = ticks();
    for (bool last = false; !last; ++*number) {
      last = start >= deadline_;
      stamp(out, *number | (last ? last_mark : 0));
      connection.send(out, size);
      connection.receive(in, size);
      if (options_.read) perf::read_bytes(in, size);
      check(in, *number);
      const uint64_t end = ticks();
      if (state->round_trips.size() < most_samples) {
        state->round_trips.push_back(
            static_cast<uint32_t>(std::min<uint64_t>(end - start, UINT32_MAX)));
      }
      start = end;
      state->messages += 2;
    }
  }

  // The receiver decides when it is over, and says so in its answers: how many halves it has
  // received (low 32 bits), and how many there will be in all (high 32 bits; 0: not known yet).
  void flood(connection_t& connection, char* out, char* in, thread_state* state) {
    const int count = options_.window / 2;
    const size_t size = options_.size;
    if (transport_.rank() == 0) {
      stamp(out, proof);
      uint64_t answered = 0;
      uint64_t total = UINT64_MAX;
      uint64_t sent = 0;
      while (sent < total || answered < total) {
        if (sent < total) {
          connection.start_sends(sent % 2, out, size, count);
          ++sent;
          if (sent < 2) {
            continue;
          }
        }
        const uint64_t answer = connection.await_answer();
        connection.finish_sends(answered % 2);
        ++answered;
        if (answer >> 32 != 0) {
          total = answer >> 32;
        }
      }
      state->messages = total * static_cast<uint64_t>(count);
      return;
    }
    stamp(in, 0);
    for (const int half : {0, 1}) {
      connection.start_receives(half, in, size, count);
    }
    uint64_t total = 0;
    for (uint64_t received = 0; total == 0 || received < total;) {
      connection.finish_receives(received % 2);
      ++received;
      if (total == 0) {
        if (ticks() >= deadline_) {
          total = received + 1;  // it is on its way already
        } else {
          connection.start_receives((received + 1) % 2, in, size, count);
        }
      }
      connection.answer(received | total << 32);
    }
    check(in, proof);
  }

  // The bytes of messages that are all the same.
  static constexpr uint64_t proof = 0x6c63695f636d7072;
  // Round trips that are remembered, of each thread; further ones only count.
  static constexpr size_t most_samples = size_t{1} << 20;

  Transport& transport_;
  const options_t options_;
  const double ticks_per_second_;
  std::vector<thread_state> threads_;
  pthread_barrier_t barrier_;
  // Written by thread 0 between barriers.
  double started_ = 0;
  double elapsed_ = 0;
  uint64_t deadline_ = 0;
};

template <class Transport>
result_t measure(Transport* transport, const options_t& options) {
  return pair_bench<Transport>(transport, options).run();
}

}  // namespace compare

#endif  // BENCHMARKS_COMPARE_PAIR_BENCH_H_
