// For the tests: ranks as threads of one process, on a network that delays, reorders and refuses.
#ifndef EXAMPLES_KMER_MEMORY_EXCHANGE_H_
#define EXAMPLES_KMER_MEMORY_EXCHANGE_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

#include "examples/kmer/exchange.h"

namespace kmer {

class memory_network {
 public:
  memory_network(int ranks, unsigned seed);
  ~memory_network();

  // Runs body(exchange of rank r) for every rank, each in a thread.
  void run(const std::function<void(exchange*)>& body);

  // From now on, every member of rank `r`'s exchange that can fails.
  void cut_off(int r);

 private:
  class endpoint;

  std::vector<std::unique_ptr<endpoint>> ranks_;
  // Of sum():
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  uint64_t round_ = 0;
  std::vector<uint64_t> partial_;
  std::vector<uint64_t> result_;
};

}  // namespace kmer

#endif  // EXAMPLES_KMER_MEMORY_EXCHANGE_H_
