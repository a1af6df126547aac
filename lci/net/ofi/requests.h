#ifndef LCI_NET_OFI_REQUESTS_H_
#define LCI_NET_OFI_REQUESTS_H_

#include <cstddef>
#include <cstdint>

#include "lci/base/cache_aligned.h"
#include "lci/net/ofi/wire.h"
#include "lci/net/op.h"

namespace lci::net::ofi {

// Puts and gets that the target executes: the bookkeeping of both sides.

// The most puts and gets that one rank may have asked of another, per device.
constexpr uint32_t max_requests = 32;

// A put or get that this rank has asked of a peer.
struct request {
  op_kind kind;
  bool by_reply;  // the bytes of a get come with the reply; else they are written before it
  size_t size;
  void* buffer;
  void* context;
};

// The requests of this rank that are not answered yet. Each has a number that no other open request
// to the same peer has; the reply repeats it. Thread safety: that of a plain value.
class request_table {
 public:
  explicit request_table(int ranks)
      : free_(static_cast<size_t>(ranks), ~uint32_t{0}),
        requests_(base::make_aligned_array<request>(static_cast<size_t>(ranks) * max_requests)) {}

  bool is_full(int rank) const { return free_[static_cast<size_t>(rank)] == 0; }
  bool is_empty(int rank) const { return free_[static_cast<size_t>(rank)] == ~uint32_t{0}; }

  // The number of the next request that is opened. Not if is_full().
  uint32_t next(int rank) const {
    return static_cast<uint32_t>(__builtin_ctz(free_[static_cast<size_t>(rank)]));
  }
  void open(int rank, const request& opened) {
    const uint32_t number = next(rank);
    free_[static_cast<size_t>(rank)] &= ~(uint32_t{1} << number);
    at(rank, number) = opened;
  }

  // Null unless the request is open. `number` may be any: bytes of a peer are never trusted.
  const request* find(int rank, uint32_t number) const {
    return number < max_requests && is_open(rank, number) ? &at(rank, number) : nullptr;
  }
  void close(int rank, uint32_t number) {
    free_[static_cast<size_t>(rank)] |= uint32_t{1} << number;
  }
  // Closes all requests to a rank, and calls closed(request) for each.
  template <class Closed>
  void close_all(int rank, const Closed& closed) {
    for (uint32_t i = 0; i < max_requests; ++i) {
      if (is_open(rank, i)) closed(at(rank, i));
    }
    free_[static_cast<size_t>(rank)] = ~uint32_t{0};
  }

 private:
  bool is_open(int rank, uint32_t number) const {
    return (free_[static_cast<size_t>(rank)] >> number & 1) == 0;
  }
  request& at(int rank, uint32_t number) const {
    return requests_[static_cast<size_t>(rank) * max_requests + number];
  }

  base::aligned_vector<uint32_t> free_;    // by rank: the bit of a number that no request has
  base::aligned_array<request> requests_;  // max_requests of each rank
};

// An answer or action that this rank still owes to a peer.
struct deferred_answer {
  record_kind to;  // get, pull and push are still to be executed; for others the answer is known
  bool ok;
  uint32_t imm;
  request_header header;
};

// The answers that this rank owes to its peers, in the order of execution. Thread safety: that of a
// plain value.
class answer_queue {
 public:
  explicit answer_queue(int ranks) : peers_(static_cast<size_t>(ranks)) {}

  // Counts a request of the peer that has arrived, until answered(). Returns false if the peer has
  // sent more requests than its request_table holds.
  bool admit(int rank) {
    uint32_t& requests = at(rank).requests;
    if (requests == max_requests) return false;
    ++requests;
    return true;
  }
  void answered(int rank) { --at(rank).requests; }

  bool empty(int rank) const { return peers_[static_cast<size_t>(rank)].answers.empty(); }
  void push(int rank, const deferred_answer& owed) { at(rank).answers.push_back(owed); }
  // Calls send(answer), which may push further answers, for each answer until it returns false, and
  // removes those for which it has returned true. Returns whether there were any.
  template <class Send>
  bool send_all(int rank, const Send& send) {
    auto& answers = at(rank).answers;
    size_t sent = 0;
    while (sent < answers.size()) {
      const deferred_answer front = answers[sent];  // a copy, since the vector may grow
      if (!send(front)) break;
      ++sent;
    }
    answers.erase(answers.begin(), answers.begin() + static_cast<std::ptrdiff_t>(sent));
    return sent > 0;
  }
  // Nothing is owed to a rank that has failed or ended.
  void forget(int rank) {
    at(rank).answers.clear();
    at(rank).requests = 0;
  }

 private:
  struct peer {
    base::aligned_vector<deferred_answer> answers;
    uint32_t requests = 0;  // of the peer, in `answers` or being executed
  };
  peer& at(int rank) { return peers_[static_cast<size_t>(rank)]; }

  base::aligned_vector<peer> peers_;  // by rank
};

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_REQUESTS_H_
