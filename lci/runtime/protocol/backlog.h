#ifndef LCI_RUNTIME_PROTOCOL_BACKLOG_H_
#define LCI_RUNTIME_PROTOCOL_BACKLOG_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "lci/api/types.hpp"
#include "lci/base/cache_aligned.h"
#include "lci/base/wakeup.h"
#include "lci/ds/spinlock.h"
#include "lci/net/op.h"
#include "lci/observe/rank_report.h"

namespace lci::rt {

class protocol_host;

// The continuation of an operation that was handed to a device. Called exactly once, by the thread
// that finds the operation over; the object may delete itself in the call.
class continuation {
 public:
  // `done`, or `fatal`: the peer is gone or its memory can't be reached.
  virtual void completed(protocol_host& host, errorcode_t code) = 0;

 protected:
  ~continuation() = default;
};

// A conversation that could not begin yet, since all tickets are in use.
class postponed {
 public:
  // False: it still can't, and nothing has happened. The object may end its own life in the call.
  virtual bool try_begin(protocol_host& host) = 0;

 protected:
  ~postponed() = default;
};

// Work that cannot be done now and that its caller cannot retry (SC'25 paper, 5.1.5):
// operations that the network refused, and conversations that could not begin. Progress retries
// them. They are rare, so this is a queue with a lock; the count in front of it keeps progress from
// looking into an empty one.
//
// Operations are not ordered: one to a full rank goes behind those to others. Conversations that
// wait for the same tickets begin in their order, and none overtakes one that waits. They do not
// queue behind those of the other side, which may end only when these have begun, nor operations
// behind them.
//
// Thread safety: every member by any thread at any time; blocks only for another's push or pop.
class backlog {
 public:
  // Operations that have waited so far.
  uint64_t pushed() const { return pushed_.load(std::memory_order_relaxed); }
  size_t size() const { return size_.load(std::memory_order_relaxed); }
  bool empty() const { return size_.load(std::memory_order_relaxed) == 0; }

  // Sets the sleeper that a push wakes. Call it before any push; the sleeper outlives all pushes.
  void set_sleeper(base::wakeup* sleeper) { sleeper_ = sleeper; }

  // Copies the operation with its header. `then` may be null. `answer`: what the network has said.
  void push(const net::op& operation, continuation* then, error_t answer);

  // The side whose tickets a conversation waits for.
  enum class side : size_t { sender, receiver };
  // `conversation` stays alive until it has begun.
  void push(postponed* conversation, side of);

  // Tries some of what waits. True if any of it left.
  bool drain(protocol_host& host);

  // Adds the first operations. For the observer's thread.
  void describe(observe::rank_report* report, uint64_t device);

 private:
  struct entry {
    net::op operation;
    alignas(8) unsigned char header[net::max_header_size];
    continuation* then;
    errorcode_t answer;  // the last one
    uint32_t since;      // by observe::coarse_clock
  };
  void append(const net::op& operation, continuation* then, errorcode_t answer, uint32_t since);
  bool pop(entry* out);
  void grow();
  bool begin_conversations(protocol_host& host, side of);
  void wake();
  void count(size_t more) { size_.store(size() + more, std::memory_order_relaxed); }

  // A pass over more than this of each kind would keep progress from polling.
  static constexpr int max_posts_per_drain = 16;
  static constexpr size_t most_described = 4;

  ds::spinlock lock_;
  // A ring. Its room stays, so that what waits now and then allocates only at first.
  base::aligned_vector<entry> entries_;      // guarded by lock_
  size_t first_ = 0;                         // guarded by lock_
  size_t operations_ = 0;                    // in the ring; guarded by lock_
  std::deque<postponed*> conversations_[2];  // by side; guarded by lock_
  std::atomic<size_t> size_{0};              // of both; changed under lock_
  std::atomic<uint64_t> pushed_{0};
  base::wakeup* sleeper_ = nullptr;
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_PROTOCOL_BACKLOG_H_
