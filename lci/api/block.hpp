/// @file
/// Blocks: pieces of registered memory, and puts and gets between them.

/// @defgroup lci_blocks Blocks and plans
/// Blocks are pieces of registered memory whose names travel in messages; puts and gets between
/// them need no addresses. ("UNR: Unified Notifiable RMA Library for HPC", SC'24, section IV-D,
/// Code 2)
/// @code{.unparsed}
/// sender                                             receiver
///   send_signal = alloc_signal(1)                      recv_signal = alloc_signal(1)
///   mine = make_block_x(mr, f, size)                   mine = make_block_x(mr, g, size)
///              .send_signal(send_signal)()                        .recv_signal(recv_signal)()
///   theirs                                     <-      mine, as bytes in a message
///   for each iteration:
///     post_put(mine, theirs)                   ->      signal_wait(recv_signal)
///     signal_wait(send_signal)                         // use the bytes
///     signal_reset(send_signal)                        signal_reset(recv_signal)
/// @endcode
///
/// A put signals the `send_signal` of the local block when the program may write to that block
/// again, and the `recv_signal` of the remote block when the bytes have arrived. A get signals the
/// `recv_signal` of the local block when the bytes have arrived, and the `send_signal` of the
/// remote block when they have been read.
///
/// **Rails.** A large put or get may be spread over several devices; each device carries a part. It
/// is one event nevertheless. The parts may arrive in any order. Without the options `device` and
/// `rails` it is spread over as many devices as the attribute `nrails` of the runtime states;
/// progress on the default device makes progress on these devices, too.
///
/// **Plans** are puts and gets between blocks that are recorded once and started many times, and
/// the usual patterns of sends and receives turned into plans. (Section IV-D and Code 3 of the same
/// paper)
/// @code
/// lci::plan_t plan = lci::alloc_plan_x().comp(sent)();  // `sent`: a signal of one event
/// lci::plan_put(plan, mine[0], theirs[0]);              // as many as there are
/// for each iteration:
///   lci::plan_start(plan);
///   lci::signal_wait(sent);                             // the local blocks may be written
///   lci::signal_reset(sent);
/// @endcode
///
/// The start of a plan allocates nothing and waits for nothing. Each operation signals the signals
/// of its blocks as post_put and post_get do. The completion object of the plan is signaled once,
/// when all operations are locally complete; the plan may then be started again. (It may also be
/// started again when all local signals of its operations have had all their events.)
#ifndef LCI_API_BLOCK_HPP_
#define LCI_API_BLOCK_HPP_

#include <cstdint>
#include <type_traits>

#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"
#include "lci/api/types.hpp"

#pragma GCC visibility push(default)

namespace lci {

/// @addtogroup lci_blocks
/// @{

/// A signal as other ranks name it. Trivially copyable: the program sends it to them as bytes.
/// Valid until the signal is freed.
struct rsignal_t {
  uint32_t number = 0;      ///< Number of the signal; 0: none.
  int32_t nbits_event = 0;  ///< The attribute `signal_nbits_event` of the signal.
  uint64_t base = 0;        ///< Opaque: the network's name for the place of the counter.
  uint64_t key = 0;         ///< Opaque: the network's key of that place; 0: peers cannot reach it.
  uint64_t offset = 0;      ///< Opaque: offset of the counter, in bytes.

  /// Whether the value names no signal.
  constexpr bool is_empty() const { return number == 0; }
};

/// Returns the name of a signal for other ranks. Thread-safe.
///
/// Required: `signal`. Options: `runtime`.
class [[nodiscard]] get_rsignal_x : public option::runtime_option<get_rsignal_x>,
                                    public argument::signal_argument<get_rsignal_x, comp_t> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] explicit get_rsignal_x(comp_t signal) : signal_argument(signal) {}
  /// Returns the name; see rsignal_t.
  /// @throws std::invalid_argument if the handle is empty, the signal has been freed, or the object
  ///   is of another kind.
  rsignal_t operator()() const;
};
/// get_rsignal_x with the default of every option.
/// @relates get_rsignal_x
inline rsignal_t get_rsignal(comp_t signal) { return get_rsignal_x(signal)(); }

/// A block: a piece of registered memory. Trivially copyable: the program sends it to other ranks
/// as bytes. Valid until its memory is deregistered; its use then throws, or ends with `fatal`.
struct block_t {
  /// Number of net contexts in which the memory of a block may be registered, at most.
  static constexpr int max_networks = 4;
  /// The memory as one net context names it.
  struct memory_t {
    uint64_t base = 0;        ///< Opaque: the network's name for the memory.
    uint64_t key = 0;         ///< Opaque: the network's key of the memory.
    uint64_t offset = 0;      ///< Bytes from the start of the memory to the block.
    mr_impl_t* mr = nullptr;  ///< Opaque: the registration, at the rank of the block.
    uint64_t serial = 0;      ///< Opaque: number of that registration.
  };
  int32_t rank = -1;      ///< The rank whose memory it is.
  uint32_t networks = 0;  ///< Number of net contexts in which the memory is registered.
  uint32_t network[max_networks] = {};  ///< Numbers of these, in the order of allocation.
  memory_t memory[max_networks];        ///< The memory, for each of these.
  uint64_t size = 0;                    ///< Bytes.
  rsignal_t send_signal;                ///< Signal of the rank of the block; see lci_blocks.
  rsignal_t recv_signal;                ///< Signal of the rank of the block; see lci_blocks.

  /// Whether the value names no memory.
  constexpr bool is_empty() const { return networks == 0; }
};
static_assert(std::is_trivially_copyable<block_t>::value, "it travels as bytes");

/// The signals of a block, which are signals of its rank. Default: none.
template <class Op>
class block_signal_options {
 public:
  /// The signal that counts a put from the block when the block may be written again, and a get
  /// from it by another rank when the bytes have been read. Default: none.
  LCI_DEFINE_SETTER_OF(comp_t, send_signal, send_signal_)
  /// The signal that counts the arrival of bytes in the block, by a put of another rank or a get of
  /// this one. Default: none.
  LCI_DEFINE_SETTER_OF(comp_t, recv_signal, recv_signal_)

  /// @cond INTERNAL
 protected:
  comp_t send_signal_;
  comp_t recv_signal_;
  /// @endcond
};

/// Makes a block of `size` bytes of registered memory, from byte `offset` on. Local and
/// thread-safe.
///
/// Required: `mr`, `offset`, `size`. Options: `runtime`, `send_signal`, `recv_signal` (none); see
/// block_signal_options. `also`: the same memory as it is registered in another net context.
class [[nodiscard]] make_block_x : public option::runtime_option<make_block_x>,
                                   public block_signal_options<make_block_x> {
 public:
  /// Takes the required arguments.
  /// @param offset bytes from the start of the registered memory.
  /// @param size bytes.
  [[nodiscard]] make_block_x(mr_t mr, size_t offset, size_t size)
      : mr_{mr}, offset_(offset), size_(size) {}
  /// Adds the registration of the same memory in another net context, so that devices of both reach
  /// it; at most three times. The bytes of the block must be within that registration, too.
  /// @throws std::invalid_argument at the fourth time.
  make_block_x& also(mr_t mr) &;
  /// The overload for a temporary.
  [[nodiscard]] make_block_x&& also(mr_t mr) && { return static_cast<make_block_x&&>(also(mr)); }
  /// Makes the block.
  /// @throws std::invalid_argument if a registration is empty or has ended, the bytes are beyond
  ///   its end, two registrations are of the same net context, or a signal has been freed.
  block_t operator()() const;

 private:
  mr_t mr_[block_t::max_networks];
  int mrs_ = 1;
  size_t offset_;
  size_t size_;
};
/// make_block_x with the default of every option.
/// @relates make_block_x
inline block_t make_block(mr_t mr, size_t offset, size_t size) {
  return make_block_x(mr, offset, size)();
}

/// Makes a block of the `size` bytes from byte `offset` of a block on, which may be a block of any
/// rank. The new block has the same signals: each put and get of a part is an event of its own.
/// Local and thread-safe.
///
/// Required: `block`, `offset`, `size`. Options: `runtime`.
class [[nodiscard]] sub_block_x : public option::runtime_option<sub_block_x>,
                                  public argument::block_argument<sub_block_x, block_t>,
                                  public argument::offset_argument<sub_block_x, size_t>,
                                  public argument::size_argument<sub_block_x, size_t> {
 public:
  /// Takes the required arguments.
  /// @param offset bytes from the start of `block`.
  /// @param size bytes.
  [[nodiscard]] sub_block_x(const block_t& block, size_t offset, size_t size)
      : block_argument(block), offset_argument(offset), size_argument(size) {}
  /// Makes the block.
  /// @throws std::invalid_argument if the bytes are beyond the end of `block`.
  block_t operator()() const;
};
/// sub_block_x with the default of every option.
/// @relates sub_block_x
inline block_t sub_block(const block_t& block, size_t offset, size_t size) {
  return sub_block_x(block, offset, size)();
}

/// The options of a put or get of blocks, as a value. See block_transfer_options for the meanings.
struct block_options_t {
  runtime_t runtime;                ///< The runtime.
  device_t device;                  ///< The device.
  const device_t* rails = nullptr;  ///< The devices; null: not given.
  int nrails = 0;                   ///< Number of `rails`, 1 to 16.
  size_t rail_min_chunk = 0;        ///< Bytes that are worth a rail; 0: the runtime's attribute.
  comp_t local_comp;                ///< Completion object of this rank.
  rsignal_t remote_signal;          ///< Signal of the other rank.
};

/// The options of a put or get of blocks.
template <class Op>
class block_transfer_options {
 public:
  /// The runtime. Default: that of the device or plan, else the global runtime.
  LCI_DEFINE_SETTER_OF(runtime_t, runtime, options_.runtime)
  /// The device, which then carries the operation alone; without effect if `rails` is given.
  /// Default: as many devices as the attribute `nrails` of the runtime states.
  LCI_DEFINE_SETTER_OF(device_t, device, options_.device)
  /// Spreads the operation over `n` devices, 1 to 16, on which the caller makes progress. They may
  /// be of several net contexts. The operation reads the array when it is run.
  Op& rails(const device_t* devices, int n) & {
    options_.rails = devices;
    options_.nrails = n;
    return static_cast<Op&>(*this);
  }
  /// The overload for a temporary.
  [[nodiscard]] Op&& rails(const device_t* devices, int n) && {
    return static_cast<Op&&>(rails(devices, n));
  }
  /// Bytes that are worth a rail of their own; 0, the default: the attribute `rail_min_chunk` of
  /// the runtime.
  LCI_DEFINE_SETTER_OF(size_t, rail_min_chunk, options_.rail_min_chunk)
  /// A completion object instead of the signal of the local block. Over several rails it must be a
  /// signal.
  LCI_DEFINE_SETTER_OF(comp_t, local_comp, options_.local_comp)
  /// A signal instead of the signal of the remote block.
  LCI_DEFINE_SETTER_OF(rsignal_t, remote_signal, options_.remote_signal)

  /// @cond INTERNAL
 protected:
  block_options_t options_;
  /// @endcond
};

/// Posts a put (direction OUT) or get (IN) between a local and a remote block of the same size. Any
/// thread may call it at any time.
///
/// The operation never returns `retry`: an operation that the network cannot take now waits in the
/// backlog. With a signal of the local block, or another local completion object, it returns
/// `posted`, and that object is signaled once; the memory of the local block is owned by the
/// library until then. Without one, the call makes progress until the operation is complete and
/// returns `done`; it must not be inside a handler then. The status has the rank of the remote
/// block, and the address and size of the local one.
///
/// A later failure is a status `fatal`; see @ref lci_signals for signals. If the signal of the peer
/// has been freed, progress() of the peer throws.
/// @throws std::invalid_argument if the sizes differ, the local block is one of another rank, its
///   memory has been deregistered or its signal freed, or a block is not registered in the net
///   context of a device. Nothing happened.
/// @throws peer_failure_error if the peer has failed.
/// @throws std::runtime_error if the peer has failed or has closed the memory.
/// @throws std::logic_error if it would have to wait inside a handler.
status_t post_block(direction_t direction, const block_t& local, const block_t& remote,
                    const block_options_t& options);

/// Posts a put from the block `local` of this rank to the block `remote` of the same size. It
/// signals the `send_signal` of the local block when the program may write to that block again, and
/// the `recv_signal` of the remote block when the bytes have arrived.
///
/// Required: `local`, `remote`. Options: `runtime`, `device`, `rails`, `rail_min_chunk`,
/// `local_comp`, `remote_signal`; see block_transfer_options. See post_block for the result, errors
/// and thread safety.
class [[nodiscard]] post_put_block_x : public block_transfer_options<post_put_block_x>,
                                       public argument::local_argument<post_put_block_x, block_t>,
                                       public argument::remote_argument<post_put_block_x, block_t> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] post_put_block_x(const block_t& local, const block_t& remote)
      : local_argument(local), remote_argument(remote) {}
  /// Posts the put.
  /// @return `posted`, or `done` if the local block has no such signal and `local_comp` is not
  ///   given. See post_block.
  status_t operator()() const {
    return post_block(direction_t::OUT, get_local(), get_remote(), options_);
  }
};
/// post_put_block_x with the default of every option.
/// @relates post_put_block_x
inline status_t post_put(const block_t& local, const block_t& remote) {
  return post_block(direction_t::OUT, local, remote, block_options_t());
}

/// Posts a get from the block `remote` to the block `local` of this rank, which has the same size.
/// It signals the `recv_signal` of the local block when the bytes have arrived, and the
/// `send_signal` of the remote block when they have been read.
///
/// Required: `local`, `remote`. Options: `runtime`, `device`, `rails`, `rail_min_chunk`,
/// `local_comp`, `remote_signal`; see block_transfer_options. See post_block for the result, errors
/// and thread safety.
class [[nodiscard]] post_get_block_x : public block_transfer_options<post_get_block_x>,
                                       public argument::local_argument<post_get_block_x, block_t>,
                                       public argument::remote_argument<post_get_block_x, block_t> {
 public:
  /// Takes the required arguments.
  [[nodiscard]] post_get_block_x(const block_t& local, const block_t& remote)
      : local_argument(local), remote_argument(remote) {}
  /// Posts the get.
  /// @return `posted`, or `done` if the local block has no such signal and `local_comp` is not
  ///   given. See post_block.
  status_t operator()() const {
    return post_block(direction_t::IN, get_local(), get_remote(), options_);
  }
};
/// post_get_block_x with the default of every option.
/// @relates post_get_block_x
inline status_t post_get(const block_t& local, const block_t& remote) {
  return post_block(direction_t::IN, local, remote, block_options_t());
}

/// @}

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_BLOCK_HPP_
