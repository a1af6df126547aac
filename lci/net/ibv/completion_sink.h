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
    out_ = out;
    room_ = max;
    progress_ = false;
    if (__builtin_expect(!waiting_.empty(), 0)) give_waiting();
  }
  // The poll ends, which began with room for `max`. Returns the number of completions that it
  // delivers.
  size_t end(size_t max) {
    const size_t count = max - room_;
    room_ = 0;
    return count;
  }
  // Completions that the poll in progress still takes.
  size_t room() const { return room_; }
  void give(const completion& one) {
    // While there is room, no earlier one waits.
    if (__builtin_expect(room_ > 0, 1)) {
      deliver(one);
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
  void deliver(const completion& one) {
    *out_++ = one;
    --room_;
  }
  [[gnu::noinline]] void give_waiting() {
    for (; room_ > 0 && !waiting_.empty(); waiting_.pop_front()) deliver(waiting_.front());
  }

  completion* out_ = nullptr;
  size_t room_ = 0;
  bool progress_ = false;
  fifo<completion> waiting_;
};

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_COMPLETION_SINK_H_
