// Sends super-k-mers to the ranks that count their k-mers, many at a time.
#ifndef EXAMPLES_KMER_DISTRIBUTOR_H_
#define EXAMPLES_KMER_DISTRIBUTOR_H_

#include <cstddef>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "examples/kmer/kmer_bins.h"
#include "examples/kmer/phases.h"
#include "examples/kmer/super_kmer.h"

namespace kmer {

// The aggregation buffers of one thread, one a rank. What this rank counts itself goes to its bins
// without a message.
class distributor {
 public:
  // `buffer_bytes` is at least record::max_bytes. All ranks have as many bins as `own`. The objects
  // outlive this one.
  distributor(phases* job, int thread, int k, size_t buffer_bytes, kmer_bins* own)
      : job_(job),
        thread_(thread),
        k_(k),
        capacity_(buffer_bytes),
        own_(own),
        batches_(static_cast<size_t>(job->ranks())) {
    for (batch& one : batches_) renew(&one);
  }

  void push(const super_kmer& run) {
    const place to = place_of(run.minimizer, job_->ranks(), own_->size());
    batch& one = batches_[static_cast<size_t>(to.rank)];
    if (capacity_ - one.used < record::max_bytes) flush(to.rank);
    one.used += record::write(run, k_, to.bin, one.memory.get() + one.used);
  }

  // Sends what has not been sent.
  void flush_all() {
    // Every rank begins behind itself, so that they do not all send to rank 0 first.
    for (int i = 1; i <= job_->ranks(); ++i) flush((job_->rank() + i) % job_->ranks());
  }

 private:
  struct batch {
    message_buffer memory;
    size_t used = 0;
  };

  void renew(batch* one) {
    one->memory.reset(static_cast<char*>(std::malloc(capacity_)));
    if (one->memory == nullptr) throw std::bad_alloc();
  }

  void flush(int to) {
    batch& one = batches_[static_cast<size_t>(to)];
    const size_t bytes = std::exchange(one.used, 0);
    if (bytes == 0) return;
    if (to == job_->rank()) {
      static_cast<void>(own_->add(one.memory.get(), bytes));  // they are whole
      return;
    }
    job_->send(thread_, to, &one.memory, bytes);
    if (one.memory == nullptr) renew(&one);
    job_->serve(thread_);
  }

  phases* const job_;
  const int thread_;
  const int k_;
  const size_t capacity_;
  kmer_bins* const own_;
  std::vector<batch> batches_;
};

// The other side: what a phase's handler does with the message of a distributor. Throws
// std::runtime_error.
inline void unpack(const message& incoming, kmer_bins* bins) {
  if (bins->add(incoming.bytes.get(), incoming.size)) return;
  throw std::runtime_error(absl::StrCat("a message of ", incoming.size, " bytes from rank ",
                                        incoming.rank, " is not a number of super-k-mers for ",
                                        bins->size(), " bins"));
}

}  // namespace kmer

#endif  // EXAMPLES_KMER_DISTRIBUTOR_H_
