// A request of the program to this rank: a send, an active message, a receive, a put or a get, as a
// value.
#ifndef LCI_RUNTIME_PROTOCOL_OPERATION_H_
#define LCI_RUNTIME_PROTOCOL_OPERATION_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lci/api/comp.hpp"
#include "lci/api/types.hpp"
#include "lci/net/op.h"
#include "lci/runtime/resources/packet.h"

namespace lci::rt {

class matching_engine;

// Written in words of 16 bytes, in which a copy is read. What is written in smaller ones can be read
// so only when all stores before are in the cache: for the sender of a message, its lines among them.
[[gnu::always_inline]] inline status_t make_status(error_t error, int rank, void* buffer,
                                                   size_t size, tag_t tag, void* user_context) {
  using pair = unsigned long long __attribute__((vector_size(16)));
  static_assert(sizeof(error) == 4 && offsetof(status_t, rank) == 4);
  static_assert(offsetof(status_t, buffer) == 8 && offsetof(status_t, size) == 16);
  static_assert(offsetof(status_t, tag) == 24);
  const pair first = {static_cast<uint32_t>(error.errorcode) |
                          static_cast<unsigned long long>(static_cast<uint32_t>(rank)) << 32,
                      reinterpret_cast<uintptr_t>(buffer)};
  const pair second = {size, tag};
  status_t status;
  std::memcpy(reinterpret_cast<char*>(&status), &first, 16);
  std::memcpy(reinterpret_cast<char*>(&status) + 16, &second, 16);
  status.user_context = user_context;
  return status;
}

// By what a send and a receive are matched.
struct matching_key {
  tag_t tag = 0;
  int rank = -1;  // the sender
  matching_policy_t policy = matching_policy_t::rank_tag;
  bool collective = false;  // collectives don't meet the program's sends and receives

  // Whether it includes the sender's rank, and the tag.
  bool has_rank() const {
    return policy == matching_policy_t::rank_tag || policy == matching_policy_t::rank_only;
  }
  bool has_tag() const {
    return policy == matching_policy_t::rank_tag || policy == matching_policy_t::tag_only;
  }

  [[gnu::always_inline]] friend bool operator==(const matching_key& a, const matching_key& b) {
    if (a.policy != b.policy || a.collective != b.collective) return false;
    if (__builtin_expect(a.policy == matching_policy_t::rank_tag, 1)) {
      return a.rank == b.rank && a.tag == b.tag;
    }
    return (a.policy != matching_policy_t::rank_only || a.rank == b.rank) &&
           (a.policy != matching_policy_t::tag_only || a.tag == b.tag);
  }
};

// The address of a message at the receiver: one of its completion objects, or its posted receives.
struct address {
  tag_t tag = 0;
  rcomp_t rcomp = 0;  // the receiver's completion object; 0: none, or matched
  matching_policy_t policy = matching_policy_t::rank_tag;
  bool collective = false;
  uint16_t remote_engine = 0;         // send: how the receiver names its matching engine
  matching_engine* engine = nullptr;  // receive
};

// An operation of the network (net::op: rank, buffer, size, remote memory), whom it is for, and
// what is signaled when it ends.
//
// The caller that starts an operation owns it, its buffer and its packet until the start answers
// `posted` or `posted_backlog`, and from then on the state that holds the only copy of the
// operation owns them until it signals `comp`.
struct operation : net::op, address {
  operation() { rank = -1; }

  comp_impl_t* comp = nullptr;  // local; signaled when it completes later; null: none
  void* user_context = nullptr;
  bool in_packet = false;         // an active message that arrives in a packet
  uint32_t part = 0;              // not 0: part of an event of `comp`, which is a signal
  packet* user_packet = nullptr;  // the packet that holds `buffer`; owned once it is accepted
  uint64_t local_offset = 0;      // where `buffer` begins in `local`, if the program gave that

  matching_key key(int sender) const { return {tag, sender, policy, collective}; }

  status_t status(errorcode_t code) const {
    return make_status(code, rank, buffer, size, tag, user_context);
  }
  // It is over: gives the program's packet back.
  void release() const {
    if (user_packet != nullptr) user_packet->put();
  }
  // It is over, and completes later than its post.
  void signal(errorcode_t code) const {
    release();
    if (__builtin_expect(part != 0, 0)) {
      signal_part(code);
    } else if (comp != nullptr) {
      comp->signal(status(code));
    }
  }
  void signal_part(errorcode_t code) const;
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_PROTOCOL_OPERATION_H_
