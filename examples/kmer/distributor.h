// Sends k-mers to the ranks that own them, many at a time.
#ifndef EXAMPLES_KMER_DISTRIBUTOR_H_
#define EXAMPLES_KMER_DISTRIBUTOR_H_

#include <cstddef>
#include <functional>
#include <new>
#include <stdexcept>
#include <vector>

#include "absl/strings/str_cat.h"
#include "examples/kmer/kmer.h"
#include "examples/kmer/phases.h"

namespace kmer {

// Takes `count` k-mers of this rank.
template <class Word>
using kmer_sink = std::function<void(const Word*, size_t count)>;

// One thread's aggregation buffers, one a rank. K-mers of this rank are handed to the sink as soon
// as their buffer is full, without a message.
template <class Word>
class distributor {
 public:
  distributor(phases* job, int thread, size_t buffer_bytes, kmer_sink<Word> own)
      : job_(job),
        thread_(thread),
        ranks_(job->ranks()),
        capacity_(buffer_bytes / sizeof(Word)),
        own_(std::move(own)),
        batches_(static_cast<size_t>(ranks_)) {
    for (batch& one : batches_) renew(&one);
  }

  void push(Word word) {
    const int to = ranks_ == 1 ? 0 : owner(hash(word), ranks_);
    batch& one = batches_[static_cast<size_t>(to)];
    one.words[one.count] = word;
    if (++one.count == capacity_) flush(to);
  }

  // Sends what has not been sent.
  void flush_all() {
    // Every rank begins behind itself, so that they do not all send to rank 0 first.
    for (int i = 1; i <= ranks_; ++i) flush((job_->rank() + i) % ranks_);
  }

 private:
  struct batch {
    message_buffer memory;
    Word* words = nullptr;
    size_t count = 0;
  };

  void renew(batch* one) {
    one->memory.reset(static_cast<char*>(std::malloc(capacity_ * sizeof(Word))));
    if (one->memory == nullptr) throw std::bad_alloc();
    one->words = reinterpret_cast<Word*>(one->memory.get());
  }

  void flush(int to) {
    batch& one = batches_[static_cast<size_t>(to)];
    if (one.count == 0) return;
    const size_t count = one.count;
    one.count = 0;
    if (to == job_->rank()) {
      own_(one.words, count);
      return;
    }
    job_->send(thread_, to, &one.memory, count * sizeof(Word));
    if (one.memory == nullptr) renew(&one);
    job_->serve(thread_);
  }

  phases* const job_;
  const int thread_;
  const int ranks_;
  const size_t capacity_;
  const kmer_sink<Word> own_;
  std::vector<batch> batches_;
};

// The other side: what a phase's handler does with the message of a distributor.
template <class Word>
void unpack(const message& incoming, const kmer_sink<Word>& own) {
  if (incoming.size % sizeof(Word) != 0) {
    throw std::runtime_error(absl::StrCat("a message of ", incoming.size, " bytes from rank ",
                                          incoming.rank, " is not a number of k-mers"));
  }
  own(reinterpret_cast<const Word*>(incoming.bytes.get()), incoming.size / sizeof(Word));
}

}  // namespace kmer

#endif  // EXAMPLES_KMER_DISTRIBUTOR_H_
