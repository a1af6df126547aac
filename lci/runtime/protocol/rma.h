// Puts and gets of the program.
//
//   initiator                        target
//     put, put, ... put_imm    ->    signals (put that tells the target; else the last is a put)
//     get, get, ...            <-
//     signal or event          ->    signals (get that tells the target)
//
// A put ends like a get where the network has no put_imm, or its bits can't hold what is to be
// told. The target is signalled when the bytes are in place, or have been read. (SC'25 paper, Table
// 1; it leaves get with signal out, for want of a network that can.)
//
// Whom the target is told of is a completion object, by `tag` and `rcomp`, or one of its signals,
// by an event. Where the network reaches the signal's counter (UNR paper, support level 4) the
// initiator adds to it when the last put or get is over, and the target need not make progress.
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

// A signal of the target's, and what it is told.
struct remote_signal : signal_event {
  int event_bits = 0;
  net::remote_region counter;  // where its counter is; empty: out of reach
  uint64_t counter_offset = 0;
};

// A put or get on its way, and what its target is told.
class rma_transfer : public pieces {
 public:
  tag_t tag = 0;
  rcomp_t rcomp = 0;     // 0: no completion object
  remote_signal signal;  // its number 0: none

  // pieces::start(), after which the target has been told, if done.
  error_t start(device_impl_t& device, bool may_wait);

 protected:
  ~rma_transfer() = default;
  // As pieces::finished. The target has been told, if done.
  virtual void over(device_impl_t& device, errorcode_t code) = 0;

 private:
  void tell(device_impl_t& device) const;
  void finished(device_impl_t& device, errorcode_t code) final;
};

// Those of one device.
//
// Thread safety: every member by any thread at any time; none blocks.
class rma {
 public:
  explicit rma(device_impl_t& device) : device_(device) {}

  // Answers as rt::post_message. The target is told by operation.tag and rcomp, if that is not 0,
  // or by `signal`, if that is not null. `fatal`: the peer is gone, or the memory not accessible.
  error_t start(net::op_kind kind, const message& operation, net::remote_region remote,
                uint64_t remote_offset, bool may_wait, const remote_signal* signal = nullptr);

  // Whether a put or get of so many bytes, with such a registration (or none), is over as soon as
  // the network takes it.
  bool ends_at_once(size_t size, net::local_region local) const;
  // Posts one: its kind is put or get, and it has neither context nor immediate data, which this
  // gives a put that tells the target. Done, fatal, or retry: then nothing happened.
  // (Not by value: what has been written word by word is copied by larger loads, which wait.)
  error_t post_short(net::op* operation, tag_t tag, rcomp_t rcomp);
  error_t post_short(net::op* operation, const remote_signal& signal);

  // Whether the network tells the target of a put: then *operation does.
  template <class Operation>
  bool tells(net::op_kind kind, const remote_signal& signal, Operation* operation) const;
  template <class Operation>
  bool tells(net::op_kind kind, tag_t tag, rcomp_t rcomp, Operation* operation) const;
  // Else, when the operation is over.
  void tell(int rank, const remote_signal& signal);
  void tell(int rank, tag_t tag, rcomp_t rcomp);

  // What progress found: an initiator says that its operation is over. Throws std::runtime_error if
  // there is no such completion object.
  void on_signal(int rank, tag_t tag, rcomp_t rcomp);
  // Likewise, of a signal.
  void on_event(int rank, const signal_event& event);

  // Around a transfer of somebody else's: no longer idle, and idle again.
  void opened() { open_.fetch_add(1, std::memory_order_relaxed); }
  void closed() { open_.fetch_sub(1, std::memory_order_release); }
  bool idle() const { return open_.load(std::memory_order_acquire) == 0; }

 private:
  struct state final : rma_transfer {
    message operation;
    bool registered = false;  // `local` is that of `use`
    registrations::use use;
    void over(device_impl_t& device, errorcode_t code) override;
  };
  // Puts the state away.
  void end(state* over);

  device_impl_t& device_;
  std::atomic<int64_t> open_{0};
  ds::object_pool<state> states_;
};

}  // namespace lci::rt

#endif  // LCI_RUNTIME_PROTOCOL_RMA_H_
