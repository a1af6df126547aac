#ifndef LCI_NET_IBV_COMPLETION_SINK_H_
#define LCI_NET_IBV_COMPLETION_SINK_H_

#include <cstddef>

#include "lci/net/fifo.h"
#include "lci/net/op.h"

namespace lci::net::ibv {

// Takes the completions of a device: they go to the caller of the poll in progress as far as it has
// room, and otherwise wait for later polls, in order. Thread safety: none.
class completion_sink {
 public:
  // Allocates memory for `most` waiting completions.
  void reserve(size_t most) { waiting_.reserve(most); }

  // A poll with room for `max` completions begins. Delivers the waiting ones.
  void begin(completion* out, size_t max) {
    next_ = begin_ = out;
    end_ = out + max;
    progress_ = false;
    if (__builtin_expect(!waiting_.empty(), 0)) give_waiting();
  }
  // The poll ends. Returns the number of completions that it delivers.
  size_t end() {
    const auto count = static_cast<size_t>(next_ - begin_);
    begin_ = next_ = end_ = nullptr;
    return count;
  }
  size_t room() const { return static_cast<size_t>(end_ - next_); }
  void give(const completion& one) {
    if (next_ != end_ && waiting_.empty()) {
      *next_++ = one;
    } else {
      waiting_.push_back(one);
    }
  }
  // Whether completions wait for a poll.
  bool has_waiting() const { return !waiting_.empty(); }

  // Whether this poll has made progress other than completions.
  void note_progress() { progress_ = true; }
  bool has_progress() const { return progress_; }

 private:
  void give_waiting() {
    for (; next_ != end_ && !waiting_.empty(); waiting_.pop_front()) *next_++ = waiting_.front();
  }

  completion* begin_ = nullptr;
  completion* next_ = nullptr;
  completion* end_ = nullptr;
  bool progress_ = false;
  fifo<completion> waiting_;
};

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_COMPLETION_SINK_H_
