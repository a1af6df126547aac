#ifndef LCI_NET_COMPLETION_SINK_H_
#define LCI_NET_COMPLETION_SINK_H_

#include <cstddef>

#include "lci/net/fifo.h"
#include "lci/net/op.h"

namespace lci::net {

// Takes the completions of a device: they go to the caller of the poll in progress as far as it has
// room, and otherwise wait for later polls, in order. Thread safety: none.
class completion_sink {
 public:
  // Allocates memory for `most` waiting completions.
  void reserve(size_t most) { waiting_.reserve(most); }

  // A poll with room for `max` completions begins. Delivers the waiting ones.
  void begin(completion* out, size_t max) {
    out_ = out;
    max_ = max;
    room_ = max;
    progress_ = false;
    if (__builtin_expect(!waiting_.empty(), 0)) give_waiting();
  }
  // The poll ends. Returns the number of completions that it delivers.
  size_t end() {
    const size_t count = max_ - room_;
    max_ = 0;
    room_ = 0;
    return count;
  }
  // Completions that the poll in progress still takes.
  size_t room() const { return room_; }
  // Whether the poll in progress has delivered as many as it takes. False if it takes none, and
  // between polls.
  bool is_full() const { return room_ == 0 && max_ > 0; }
  void give(const completion& one) {
    // While there is room, no earlier one waits.
    if (__builtin_expect(room_ > 0, 1)) {
      deliver(one);
    } else {
      waiting_.push_back(one);
    }
  }
  // As give(), if there is room.
  void deliver(const completion& one) {
    *out_++ = one;
    --room_;
  }
  // Whether completions wait for a poll, and how many.
  bool has_waiting() const { return !waiting_.empty(); }
  size_t waiting() const { return waiting_.size(); }

  // Whether this poll has made progress other than completions.
  void note_progress() { progress_ = true; }
  bool has_progress() const { return progress_; }

 private:
  [[gnu::noinline]] void give_waiting() {
    for (; room_ > 0 && !waiting_.empty(); waiting_.pop_front()) deliver(waiting_.front());
  }

  completion* out_ = nullptr;
  size_t max_ = 0;
  size_t room_ = 0;
  bool progress_ = false;
  fifo<completion> waiting_;
};

}  // namespace lci::net

#endif  // LCI_NET_COMPLETION_SINK_H_
