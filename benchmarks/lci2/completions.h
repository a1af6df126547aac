// Completions of the operations of one thread.
#ifndef BENCHMARKS_LCI2_COMPLETIONS_H_
#define BENCHMARKS_LCI2_COMPLETIONS_H_

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "benchmarks/lci2/options.h"
#include "lci.hpp"

namespace lci2 {

[[noreturn, gnu::noinline, gnu::cold]] inline void fail(const std::string& text) {
  std::fprintf(stderr, "lci2_pairs: rank %d: %s\n", lci::get_rank_me(), text.c_str());
  std::fflush(nullptr);
  // Other threads of this rank wait for messages. lcrun ends the other rank.
  std::_Exit(EXIT_FAILURE);
}

// Counts the completions of one thread's operations, or of the messages that it receives, through
// completion objects of one kind. The thread calls all functions but signal().
class completions {
 public:
  // max_pending: operations that may be under way at a time. is_private: only the thread itself
  // makes the progress that signals its handler.
  completions(completion_kind kind, size_t max_pending, bool is_private, lci::comp_t handler)
      : kind_(kind), is_private_(is_private) {
    switch (kind) {
      case completion_kind::queue:
        object_ = lci::alloc_cq();
        break;
      case completion_kind::handler:
        object_ = handler;
        break;
      case completion_kind::sync:
        for (size_t i = 0; i < max_pending; ++i) syncs_.push_back(lci::alloc_sync());
        is_pending_.resize(max_pending);
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

}  // namespace lci2

#endif  // BENCHMARKS_LCI2_COMPLETIONS_H_
