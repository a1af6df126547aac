// An operation that the runtime posts to a backend, and the completions that the backend returns.
#ifndef LCI_NET_OP_H_
#define LCI_NET_OP_H_

#include <cstddef>
#include <cstdint>

#include "lci/api/types.hpp"

namespace lci::net {

// Memory of this rank that a backend may read and write on behalf of peers.
// Made by context::register_memory, dead after deregister_memory.
struct local_region {
  uint64_t handle = 0;  // 0: not registered
};

// The name by which a peer accesses the same memory; ranks exchange it as bytes.
struct remote_region {
  uint64_t base = 0;  // the backend's: an address or an offset
  uint64_t key = 0;   // the backend's; 0: empty
};

enum class op_kind : uint8_t {
  send,     // header + buffer arrive at `rank` as one completion of kind recv, with `imm`
  put,      // buffer is written at remote + remote_offset; the target is not notified
  put_imm,  // the same, and the target sees a completion of kind remote_put with `imm`
  get,      // remote + remote_offset is read into buffer
};

// Never sent as bytes.
struct op {
  op_kind kind = op_kind::send;
  // The device has no more use of `header` and `buffer` when post returns `done`, and never returns
  // `posted`. Only for send, and only up to device_limits::max_inject bytes (header + buffer).
  bool inject = false;
  // A send that is not injected, whose `context` is not null: it is complete when the message arrives
  // without further polls of this rank.
  bool network_semantic = false;
  // Put and put_imm: the target is waiting for the notification that the bytes are there.
  bool latency_critical = false;
  uint8_t header_size = 0;      // bytes of `header`, at most max_header_size; only with inject
  int rank = 0;                 // the other side; may be this rank
  net_imm_data_t imm = 0;       // send: all 32 bits arrive; put_imm: as device_limits says
  net_imm_data_t imm_high = 0;  // put_imm: the upper half, where put_imm_bits is 64
  const void* header = nullptr;
  void* buffer = nullptr;      // written only by get
  size_t size = 0;             // bytes of buffer; 0 is legal
  local_region local;          // registration of buffer; where device_limits::needs_registration
                               // says so, required except for inject
  remote_region remote;        // put, put_imm, get
  uint64_t remote_offset = 0;  // bytes from the start of `remote`
  void* context = nullptr;     // comes back in the completion of a posted operation
};

constexpr size_t max_header_size = 32;

// A short operation (device::post_short): what is done, and with which rank. Passed in one
// register.
struct short_op {
  constexpr short_op(int to, op_kind what) : kind(what), rank(to) {}
  op_kind kind;  // first, where a processor tests it with one instruction
  int rank;
};

// Where a short put, put_imm or get writes or reads.
struct remote_place {
  remote_region region;
  uint64_t offset = 0;  // bytes from the start of the region
};

// The same operation for device::post. `where` is null for a send.
inline op make_op(short_op what, net_imm_data_t imm, void* buffer, size_t size,
                  const remote_place* where) {
  op made;
  made.kind = what.kind;
  made.inject = what.kind == op_kind::send;
  made.rank = what.rank;
  made.imm = imm;
  made.buffer = buffer;
  made.size = size;
  if (where != nullptr) {
    made.remote = where->region;
    made.remote_offset = where->offset;
  }
  return made;
}

enum class completion_kind : uint8_t {
  send,         // a posted send, put, put_imm or get of this rank is complete: `context`
  put,          //
  get,          //
  recv,         // a message arrived: rank, imm, buffer, size, lease
  remote_put,   // a put_imm of a peer is visible in our memory: rank, imm, imm_high
  peer_failed,  // `rank` has failed; reported once per device and rank. Posts to it return fatal.
};

// Members that its kind does not have are undefined after a poll.
struct completion {
  completion_kind kind = completion_kind::send;
  // Posted operations: the peer failed or ended its device before the operation was complete; or,
  // for a put or get, the memory turned out not to be accessible (see `fatal` of device::post).
  bool failed = false;
  // recv: the bytes are in `small`, and nothing is lent: release() is not necessary.
  bool is_small = false;
  int rank = -1;
  net_imm_data_t imm = 0;
  net_imm_data_t imm_high = 0;  // remote_put, where put_imm_bits is 64
  size_t size = 0;
  alignas(8) unsigned char small[8];
  void* buffer = nullptr;   // recv, unless is_small: where the bytes lie, aligned to 8
  uint64_t lease = 0;       // recv: give it to device::release when the bytes are no longer read
  void* context = nullptr;  // posted operations: op::context

  // recv: the bytes of the message.
  const void* bytes() const { return is_small ? small : buffer; }
};

// The completion of an operation of this rank that was posted.
inline completion make_completion(op_kind kind, int rank, void* context, bool failed) {
  completion made;
  made.kind = kind == op_kind::send  ? completion_kind::send
              : kind == op_kind::get ? completion_kind::get
                                     : completion_kind::put;
  made.rank = rank;
  made.context = context;
  made.failed = failed;
  return made;
}

// The completion of something that a peer has done.
inline completion make_event(completion_kind kind, int rank, net_imm_data_t imm = 0) {
  completion made;
  made.kind = kind;
  made.rank = rank;
  made.imm = imm;
  return made;
}

}  // namespace lci::net

#endif  // LCI_NET_OP_H_
