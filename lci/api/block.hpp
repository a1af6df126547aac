// Blocks: pieces of registered memory that travel in a message, and puts and gets between them that
// need no addresses. ("UNR: Unified Notifiable RMA Library for HPC", SC'24, section IV-D, Code 2.)
//
//   sender                                             receiver
//     send_signal = alloc_signal(1)                      recv_signal = alloc_signal(1)
//     mine = make_block_x(mr, f, size)                   mine = make_block_x(mr, g, size)
//                .send_signal(send_signal)()                        .recv_signal(recv_signal)()
//     theirs                                     <-      mine, as bytes in a message
//     for each iteration:
//       post_put(mine, theirs)                   ->      signal_wait(recv_signal)
//       signal_wait(send_signal)                         ... use the bytes ...
//       signal_reset(send_signal)                        signal_reset(recv_signal)
//
// A put signals the send_signal of the local block when that may be written again, and the
// recv_signal of the remote block when the bytes are there. A get signals the recv_signal of the
// local block when the bytes are there, and the send_signal of the remote block when they have been
// read.
//
// Rails. A large put or get may be spread over several devices, each of which carries a part; it is
// one event all the same, in whatever order the parts arrive. Without the option `device` or
// `rails` it goes over as many devices as the runtime's attribute nrails says, for which progress
// on the default device makes progress, too.
#ifndef LCI_API_BLOCK_HPP_
#define LCI_API_BLOCK_HPP_

#include <cstdint>
#include <type_traits>

#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"

#pragma GCC visibility push(default)

namespace lci {

// A signal as other ranks name it. Trivially copyable: send it to them as bytes. Valid until the
// signal is freed.
struct rsignal_t {
  uint32_t number = 0;      // 0: none
  int32_t nbits_event = 0;  // the signal's attribute
  uint64_t base = 0;        // where its counter is, in the network's terms
  uint64_t key = 0;         // likewise; 0: out of reach
  uint64_t offset = 0;

  constexpr bool is_empty() const { return number == 0; }
};

class [[nodiscard]] get_rsignal_x : public option::runtime_option<get_rsignal_x>,
                                    public argument::signal_argument<get_rsignal_x, comp_t> {
 public:
  [[nodiscard]] explicit get_rsignal_x(comp_t signal) : signal_argument(signal) {}
  rsignal_t operator()() const;
};
inline rsignal_t get_rsignal(comp_t signal) { return get_rsignal_x(signal)(); }

// A block. Trivially copyable: send it to other ranks as bytes. Valid until its memory is
// deregistered: then its use is an exception, or ends with `fatal`.
struct block_t {
  static constexpr int max_networks = 4;
  // The memory, in the terms of one net context.
  struct memory_t {
    uint64_t base = 0;        // the network's
    uint64_t key = 0;         // likewise
    uint64_t offset = 0;      // bytes from there to the block
    mr_impl_t* mr = nullptr;  // of the block's rank
    uint64_t serial = 0;      // of that registration
  };
  int32_t rank = -1;  // whose memory it is
  uint32_t networks = 0;
  uint32_t network[max_networks] = {};  // numbers of net contexts, in the order of allocation
  memory_t memory[max_networks];
  uint64_t size = 0;  // bytes
  rsignal_t send_signal;
  rsignal_t recv_signal;

  constexpr bool is_empty() const { return networks == 0; }
};
static_assert(std::is_trivially_copyable<block_t>::value, "it travels as bytes");

// The signals of a block, by what its rank calls them; empty: none.
template <class Op>
class block_signal_options {
 public:
  LCI_DEFINE_SETTER_OF(comp_t, send_signal, send_signal_)
  LCI_DEFINE_SETTER_OF(comp_t, recv_signal, recv_signal_)

 protected:
  comp_t send_signal_;
  comp_t recv_signal_;
};

// The `size` bytes from byte `offset` of registered memory on. Option also: the same memory as it
// is registered in another net context (its address and `offset` + `size` must be there, too), so
// that devices of both reach it; at most three times.
class [[nodiscard]] make_block_x : public option::runtime_option<make_block_x>,
                                   public block_signal_options<make_block_x> {
 public:
  [[nodiscard]] make_block_x(mr_t mr, size_t offset, size_t size)
      : mr_{mr}, offset_(offset), size_(size) {}
  make_block_x& also(mr_t mr) &;
  [[nodiscard]] make_block_x&& also(mr_t mr) && { return static_cast<make_block_x&&>(also(mr)); }
  block_t operator()() const;

 private:
  mr_t mr_[block_t::max_networks];
  int mrs_ = 1;
  size_t offset_;
  size_t size_;
};
inline block_t make_block(mr_t mr, size_t offset, size_t size) {
  return make_block_x(mr, offset, size)();
}

// The `size` bytes from byte `offset` of a block on, of whichever rank. It has the same signals:
// each put and get of a part is an event of its own.
class [[nodiscard]] sub_block_x : public option::runtime_option<sub_block_x>,
                                  public argument::block_argument<sub_block_x, block_t>,
                                  public argument::offset_argument<sub_block_x, size_t>,
                                  public argument::size_argument<sub_block_x, size_t> {
 public:
  [[nodiscard]] sub_block_x(const block_t& block, size_t offset, size_t size)
      : block_argument(block), offset_argument(offset), size_argument(size) {}
  block_t operator()() const;
};
inline block_t sub_block(const block_t& block, size_t offset, size_t size) {
  return sub_block_x(block, offset, size)();
}

// ---- puts and gets between blocks
// -----------------------------------------------------------------

// What a put or get of blocks can be told besides the blocks.
struct block_options_t {
  runtime_t runtime;
  device_t device;
  const device_t* rails = nullptr;
  int nrails = 0;
  size_t rail_min_chunk = 0;
  comp_t local_comp;
  rsignal_t remote_signal;
};
template <class Op>
class block_transfer_options {
 public:
  LCI_DEFINE_SETTER_OF(runtime_t, runtime, options_.runtime)
  LCI_DEFINE_SETTER_OF(device_t, device, options_.device)
  // Spread over these `n` devices, 1 to 16, which the caller makes progress on; they may be of
  // several net contexts. The array is read by the call.
  Op& rails(const device_t* devices, int n) & {
    options_.rails = devices;
    options_.nrails = n;
    return static_cast<Op&>(*this);
  }
  [[nodiscard]] Op&& rails(const device_t* devices, int n) && {
    return static_cast<Op&&>(rails(devices, n));
  }
  // Bytes that are worth a rail of their own; 0: the runtime's rail_min_chunk.
  LCI_DEFINE_SETTER_OF(size_t, rail_min_chunk, options_.rail_min_chunk)
  // Instead of the local block's signal. Over several rails it must be a signal.
  LCI_DEFINE_SETTER_OF(comp_t, local_comp, options_.local_comp)
  // Instead of the remote block's signal.
  LCI_DEFINE_SETTER_OF(rsignal_t, remote_signal, options_.remote_signal)

 protected:
  block_options_t options_;
};

// Put and get between a local and a remote block of the same size. They are never to be retried:
// what the network can't take now waits in the backlog. With a signal, or another local completion
// object, they answer `posted`, and it is signalled once; without one they make progress until the
// operation is complete, and answer `done`. (Not from inside a handler then.)
//
// std::invalid_argument: sizes differ, the local block is another rank's, memory or signal of the
// local block are no more, a net context is missing. peer_failure_error, std::runtime_error: the
// peer is gone, or has closed the memory. What goes wrong later is a status `fatal`; of a signal
// see signal.hpp. A signal of the peer that is no more is an exception of its progress.
status_t post_block(direction_t direction, const block_t& local, const block_t& remote,
                    const block_options_t& options);

class [[nodiscard]] post_put_block_x : public block_transfer_options<post_put_block_x>,
                                       public argument::local_argument<post_put_block_x, block_t>,
                                       public argument::remote_argument<post_put_block_x, block_t> {
 public:
  [[nodiscard]] post_put_block_x(const block_t& local, const block_t& remote)
      : local_argument(local), remote_argument(remote) {}
  status_t operator()() const {
    return post_block(direction_t::OUT, get_local(), get_remote(), options_);
  }
};
inline status_t post_put(const block_t& local, const block_t& remote) {
  return post_block(direction_t::OUT, local, remote, block_options_t());
}

class [[nodiscard]] post_get_block_x : public block_transfer_options<post_get_block_x>,
                                       public argument::local_argument<post_get_block_x, block_t>,
                                       public argument::remote_argument<post_get_block_x, block_t> {
 public:
  [[nodiscard]] post_get_block_x(const block_t& local, const block_t& remote)
      : local_argument(local), remote_argument(remote) {}
  status_t operator()() const {
    return post_block(direction_t::IN, get_local(), get_remote(), options_);
  }
};
inline status_t post_get(const block_t& local, const block_t& remote) {
  return post_block(direction_t::IN, local, remote, block_options_t());
}

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_BLOCK_HPP_
