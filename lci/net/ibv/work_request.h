// Builds work requests, and encodes their identifiers:
//
//   bits    63    62      61 ... 33   32        31 ... 0
//           1     the index of a receive
//           0     1       0           the rank to which it is a heartbeat
//           0     0       rank        is RMA    position in the send queue of messages or RMA
#ifndef LCI_NET_IBV_WORK_REQUEST_H_
#define LCI_NET_IBV_WORK_REQUEST_H_

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "lci/api/types.hpp"

namespace lci::net::ibv {

constexpr uint64_t receive_bit = uint64_t{1} << 63;
constexpr uint64_t heartbeat_bit = uint64_t{1} << 62;

// The upper half of an identifier of a request in a send queue.
constexpr uint32_t queue_index(int rank, bool is_rma) {
  return static_cast<uint32_t>(rank) * 2 + (is_rma ? 1 : 0);
}

inline ibv_sge piece(const void* bytes, size_t size, uint32_t key) {
  return {reinterpret_cast<uintptr_t>(bytes), static_cast<uint32_t>(size), key};
}

inline ibv_send_wr make_request(ibv_wr_opcode opcode, ibv_sge* pieces, int count) {
  ibv_send_wr request = {};
  request.opcode = opcode;
  request.sg_list = pieces;
  request.num_sge = count;
  return request;
}

// The result of a post that a queue with room refused with an errno value: worth a retry, or fatal.
inline error_t refusal(int code) {
  return code == ENOMEM || code == EAGAIN ? errorcode_t::retry_nomem : errorcode_t::fatal;
}

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_WORK_REQUEST_H_
