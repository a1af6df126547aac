// Puts and gets of the program.
//
//   initiator                        target
//     put, put, ... put_imm    ->    signals (put with signal; else the last is a put)
//     get, get, ...            <-
//     signal(tag, rcomp)       ->    signals (get with signal)
//
// A put with signal ends like a get with one where the network has no put_imm, or tag or rcomp are
// more than its bits hold. The target is signalled when the bytes are in place, or have been read.
// (SC'25 paper, Table 1; it leaves get with signal out, for want of a network that can.)
#ifndef LCI_RUNTIME_PROTOCOL_RMA_H_
#define LCI_RUNTIME_PROTOCOL_RMA_H_

#include <atomic>
#include <cstdint>

#include "lci/ds/object_pool.h"
#include "lci/net/op.h"
#include "lci/runtime/message.h"
#include "lci/runtime/protocol/pieces.h"
#include "lci/runtime/registrations.h"
#include "lci/runtime/wire.h"

namespace lci::rt {

// Those of one device.
//
// Thread safety: every member by any thread at any time; none blocks.
class rma {
 public:
  explicit rma(device_impl_t& device) : device_(device) {}

  // Answers as rt::post_message. operation.rcomp 0: without signal. `fatal`: the peer is gone, or
  // the memory not accessible.
  error_t start(net::op_kind kind, const message& operation, net::remote_region remote,
                uint64_t remote_offset, bool may_wait);

  // Whether a put or get of so many bytes, with such a registration (or none), is over as soon as
  // the network takes it.
  bool ends_at_once(size_t size, net::local_region local) const;
  // Posts one: its kind is put or get, and it has neither context nor immediate data, which this
  // gives a put that tells the target. Done, fatal, or retry: then nothing happened.
  // (Not by value: what has been written word by word is copied by larger loads, which wait.)
  error_t post_at_once(net::op* operation, tag_t tag, rcomp_t rcomp);

  // What progress found: an initiator says that its operation is over. Throws std::runtime_error if
  // there is no such completion object.
  void on_signal(int rank, tag_t tag, rcomp_t rcomp);

  bool idle() const { return open_.load(std::memory_order_acquire) == 0; }

 private:
  struct state final : pieces {
    message operation;
    bool registered = false;  // `local` is that of `use`
    registrations::use use;
    void finished(device_impl_t& device, errorcode_t code) override;
  };
  // Whether the network tells the target of a put.
  bool tells(net::op_kind kind, tag_t tag, rcomp_t rcomp) const;
  void signal_target(int rank, tag_t tag, rcomp_t rcomp);
  // Puts the state away, and tells the target if that is still to be done.
  void end(state* over, errorcode_t code);

  device_impl_t& device_;
  std::atomic<int64_t> open_{0};
  ds::object_pool<state> states_;
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_PROTOCOL_RMA_H_
