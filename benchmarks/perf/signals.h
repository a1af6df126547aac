// A completion object of any kind, as one round of signals after the other.
#ifndef BENCHMARKS_PERF_SIGNALS_H_
#define BENCHMARKS_PERF_SIGNALS_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "benchmarks/perf/options.h"
#include "benchmarks/perf/payload.h"
#include "lci.hpp"

namespace perf {

// Looks at the statuses of messages that arrive, and frees what they came in.
class message_sink {
 public:
  virtual ~message_sink() = default;
  // Any thread, several at the same time. (Makes no call for a short message that is only read.)
  void take(const lci::status_t& status) {
    if (__builtin_expect(only_reads_, 1)) {
      read_payload(status.buffer, status.size);
    } else {
      take_otherwise(status);
    }
  }

 protected:
  // only_reads: there is nothing to do with a message but to read its bytes.
  explicit message_sink(bool only_reads) : only_reads_(only_reads) {}

 private:
  virtual void take_otherwise(const lci::status_t& status) = 0;

  const bool only_reads_;
};

// Waits for a number of signals, again and again. One thread waits, any thread may signal; signals
// of a round come only after the round before is over.
class signals {
 public:
  // sink: gets the status of every signal; may be null. A handler finds this object by the
  // user_context of the operation, which must be its address; where there is none (messages), by
  // the low 16 bits of the tag, which must be `number`, below max_numbers and of one object at a
  // time.
  // Active messages are lent to handlers and counters (lend_am); the others', which come in what
  // `buffers` says, are the sink's to give back.
  signals(lci::runtime_t runtime, completion_kind kind, buffer_kind buffers, int per_round,
          message_sink* sink, int number = no_number);
  ~signals();
  signals(const signals&) = delete;
  signals& operator=(const signals&) = delete;

  static constexpr int max_numbers = 2048;
  static constexpr int no_number = -1;

  // The calling thread is the one that waits from now on, and counts its own signals as a program
  // with one thread does. Between runs: no signal may come before all threads know of it.
  void wait_here();

  lci::comp_t comp() const { return comp_; }
  // Whether operations may be `done` at once, without a signal; then count_done says so. A
  // synchronizer waits for a number of signals that is fixed.
  bool allows_done() const { return kind_ != completion_kind::sync; }
  void count_done(int more) { done_ += more; }

  // True if all of a round have come; then the next round begins. (Makes no call for a handler:
  // who waits asks again and again.)
  bool round_is_over() {
    return __builtin_expect(kind_ == completion_kind::handler, 1) ? all_are_counted(counted())
                                                                  : other_round_is_over();
  }

 private:
  class showing_counter;
  static void on_signal(lci::status_t status);
  void count(const lci::status_t& status);
  void look_at(const lci::status_t& status);
  bool other_round_is_over();
  int64_t counted() const { return counted_ + counted_elsewhere_.load(std::memory_order_acquire); }
  // all: signals of all rounds.
  bool all_are_counted(int64_t all) {
    if (all - before_ + done_ < per_round_) return false;
    before_ = all;
    done_ = 0;
    return true;
  }

  const completion_kind kind_;
  const int per_round_;
  message_sink* const sink_;
  lci::comp_t comp_;
  bool is_own_ = false;                        // comp_ is a showing_counter
  int64_t done_ = 0;                           // without a signal, in this round
  int64_t popped_ = 0;                         // queue: in this round
  int64_t before_ = 0;                         // counter, handler: signals of earlier rounds
  std::atomic<const void*> owner_{nullptr};    // the thread that waits
  int64_t counted_ = 0;                        // handler, own counter: all signals on that thread
  std::atomic<int64_t> counted_elsewhere_{0};  // as counted_, on other threads
  std::vector<lci::status_t> statuses_;        // sync
};

}  // namespace perf

#endif  // BENCHMARKS_PERF_SIGNALS_H_
