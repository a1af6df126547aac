// The exchange over LCI, in the manner of the RPC example (SC'25 LCI paper, Listing 2): a device
// for each thread, one handler that frees sent buffers, one completion queue that all threads take
// incoming messages from. The queue, rather than a handler that runs inside progress(), lets every
// thread take the next message, whichever device it came through.
#ifndef EXAMPLES_KMER_LCI_EXCHANGE_H_
#define EXAMPLES_KMER_LCI_EXCHANGE_H_

#include <atomic>
#include <vector>

#include "examples/kmer/exchange.h"
#include "lci.hpp"

namespace kmer {

class lci_exchange final : public exchange {
 public:
  // Starts LCI; all ranks construct one at the same time, with the same number of threads, and
  // destroy it at the same time. Messages up to `message_bytes` travel without a handshake, if LCI
  // can do that. One at a time in a process.
  lci_exchange(int threads, size_t message_bytes);
  ~lci_exchange() override;

  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  bool try_send(int thread, int to, uint64_t tag, message_buffer* buffer, size_t size) override;
  int64_t unfinished() const override { return unfinished_; }
  bool progress(int thread) override;
  bool receive(message* into) override;
  void sum(uint64_t* values, size_t count) override;

 private:
  static void on_sent(lci::status_t status);

  int rank_ = 0;
  int ranks_ = 1;
  std::vector<lci::device_t> devices_;  // thread 0's is the runtime's default device
  lci::comp_t on_sent_;
  lci::comp_t arrivals_;
  lci::rcomp_t arrivals_name_ = 0;
  std::atomic<int64_t> unfinished_{0};
  std::atomic<bool> lost_{false};  // a message that had been accepted
};

}  // namespace kmer

#endif  // EXAMPLES_KMER_LCI_EXCHANGE_H_
