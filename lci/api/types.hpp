/// @file
/// The plain types of the interface: return codes, statuses, tags, and the enumerations that name
/// choices.

/// @defgroup lci_types Types
/// Return codes, statuses, tags, and the enumerations that name choices.
#ifndef LCI_API_TYPES_HPP_
#define LCI_API_TYPES_HPP_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

#pragma GCC visibility push(default)

/// The library. Every name of the interface is in this namespace; names in lci::rt are internal.
namespace lci {

/// @addtogroup lci_types
/// @{

/// A number that the program chooses for a message. The runtime's attributes `max_tag` and
/// `max_imm_tag` give the largest values.
using tag_t = uint64_t;
/// The number by which other ranks name a completion object of this rank; 0 names none.
/// register_rcomp returns it.
using rcomp_t = uint32_t;
/// The immediate data that a network carries in addition to the bytes of a message.
using net_imm_data_t = uint32_t;

/// As the rank of a receive: a message from any rank matches.
constexpr int ANY_SOURCE = -1;
/// As the tag of a receive: a message with any tag matches. No message can be sent with this tag.
constexpr tag_t ANY_TAG = ~tag_t{0};

/// The name of a resource for which the program has given none.
constexpr const char* DEFAULT_NAME = "default";

/// The outcome of a call. Each category of codes (done, posted, retry) lies between its `_min` and
/// `_max`, so the order of the enumerators is part of the interface. (SC'25 paper, section 4.2.5)
enum class errorcode_t {
  done_min,        ///< Lower bound of the category done; no call returns it.
  done,            ///< Complete. The local completion object will not be signaled.
  done_backlog,    ///< Complete, after the operation had waited in the backlog.
  done_max,        ///< Upper bound of the category done; no call returns it.
  posted_min,      ///< Lower bound of the category posted; no call returns it.
  posted,          ///< In progress. The local completion object will be signaled once.
  posted_backlog,  ///< Waiting in the backlog. The completion object will be signaled once.
  posted_max,      ///< Upper bound of the category posted; no call returns it.
  retry_min,       ///< Lower bound of the category retry; no call returns it.
  retry,           ///< Nothing happened. Make progress and call again.
  retry_init,      ///< Nothing has set the code yet: the initial value of an error_t.
  retry_lock,      ///< Nothing happened: another thread is using the resource.
  retry_nopacket,  ///< Nothing happened: the packet pool is empty.
  retry_nomem,     ///< Nothing happened: the queue of the network is full.
  retry_backlog,   ///< Nothing happened: older operations wait in the backlog.
  retry_max,       ///< Upper bound of the category retry; no call returns it.
  fatal,           ///< Failed, and a repetition cannot succeed.
};

/// Returns the name of the enumerator, as "done" or "retry_lock". The string is static.
const char* get_errorcode_str(errorcode_t code);

/// The outcome of a call that returns nothing else. The compiler warns when a program drops the
/// result of a post, since it then cannot know whether anything was sent; a cast to void states
/// that this is intended.
struct [[nodiscard]] error_t {
  errorcode_t errorcode = errorcode_t::retry_init;  ///< The code.

  /// Holds `retry_init`.
  error_t() = default;
  /// Holds the given code.
  error_t(errorcode_t code) : errorcode(code) {}  // NOLINT: implicit by interface

  /// Whether the operation is complete.
  bool is_done() const { return in(errorcode_t::done_min, errorcode_t::done_max); }
  /// Whether the operation is in progress, and its completion object will be signaled.
  bool is_posted() const { return in(errorcode_t::posted_min, errorcode_t::posted_max); }
  /// Whether nothing happened, and the call is to be repeated.
  bool is_retry() const { return in(errorcode_t::retry_min, errorcode_t::retry_max); }
  /// Whether the operation has failed, and will not be complete.
  bool is_fatal() const { return errorcode == errorcode_t::fatal; }
  /// Sets the code to `retry`.
  void reset_retry() { errorcode = errorcode_t::retry; }
  /// Returns the name of the code; see get_errorcode_str.
  const char* get_str() const { return get_errorcode_str(errorcode); }

 private:
  bool in(errorcode_t low, errorcode_t high) const { return errorcode > low && errorcode < high; }
};

/// The result of progress(): an error_t that a program may drop, as a loop does that waits for a
/// completion object.
struct progress_result_t : error_t {
  using error_t::error_t;
  /// Holds the given result.
  progress_result_t(error_t error) : error_t(error) {}  // NOLINT: implicit by design
};

/// The description of an operation. A post returns it, and a completion object is signaled with it.
/// A field without a meaning for the operation keeps its default.
struct [[nodiscard]] status_t {
  error_t error;                 ///< The outcome.
  int rank = -1;                 ///< The other rank.
  void* buffer = nullptr;        ///< The memory that holds the bytes.
  size_t size = 0;               ///< Number of bytes.
  tag_t tag = 0;                 ///< The tag.
  void* user_context = nullptr;  ///< The value given when the operation was posted.

  /// Holds `retry_init` and the defaults.
  status_t() = default;
  /// Holds the given code and the defaults.
  status_t(errorcode_t code) : error(code) {}  // NOLINT: implicit by interface
  /// Holds `done` and this user context.
  explicit status_t(void* context) : error(errorcode_t::done), user_context(context) {}

  /// Sets the outcome to `done`.
  void set_done() { error = errorcode_t::done; }
  /// Sets the outcome to `posted`.
  void set_posted() { error = errorcode_t::posted; }
  /// Sets the outcome to `retry`.
  void set_retry() { error = errorcode_t::retry; }
  /// Whether the operation is complete.
  bool is_done() const { return error.is_done(); }
  /// Whether the operation is in progress, and its completion object will be signaled.
  bool is_posted() const { return error.is_posted(); }
  /// Whether nothing happened, and the call is to be repeated.
  bool is_retry() const { return error.is_retry(); }
  /// Whether the operation has failed, and will not be complete.
  bool is_fatal() const { return error.is_fatal(); }
  /// Returns `error`.
  error_t get_error() const { return error; }
  /// Returns `rank`.
  int get_rank() const { return rank; }
  /// Returns `buffer`.
  void* get_buffer() const { return buffer; }
  /// Returns `size`, in bytes.
  size_t get_size() const { return size; }
  /// Returns `tag`.
  tag_t get_tag() const { return tag; }
  /// Returns `user_context`.
  void* get_user_context() const { return user_context; }
};

/// Reports that another rank has failed. Communication that does not need that rank continues to
/// work.
class peer_failure_error : public std::runtime_error {
 public:
  /// Makes the exception. @param what the message of the exception.
  peer_failure_error(int failed_rank, const std::string& what)
      : std::runtime_error(what), failed_rank_(failed_rank) {}
  /// Returns the rank that has failed.
  int failed_rank() const noexcept { return failed_rank_; }

 private:
  int failed_rank_;
};

/// The direction in which an operation moves bytes.
enum class direction_t {
  OUT,  ///< Bytes leave this rank.
  IN    ///< Bytes arrive at this rank.
};

/// Defines when a send is locally complete.
enum class comp_semantic_t {
  memory,  ///< The program may write to the buffer again.
  network  ///< The network has, in addition, handed the message to the other side.
};

/// Defines what a send and a receive of the same matching engine must have in common to match. The
/// sender and the receiver must name the same policy. (SC'25 paper, section 4.3.2)
enum class matching_policy_t : unsigned {
  none = 0,       ///< Nothing: every send matches every receive with this policy.
  rank_only = 1,  ///< The rank of the sender.
  tag_only = 2,   ///< The tag.
  rank_tag = 3,   ///< The rank of the sender and the tag.
  max = 4         ///< Number of policies; itself no policy.
};

/// The kinds of completion objects.
enum class attr_comp_type_t {
  sync,     ///< A synchronizer (alloc_sync).
  counter,  ///< A counter (alloc_counter).
  cq,       ///< A completion queue (alloc_cq).
  handler,  ///< A handler (alloc_handler).
  graph,    ///< A graph (alloc_graph).
  custom,   ///< An object of a class of the program; see comp_impl_t.
  signal    ///< A signal (alloc_signal).
};

/// The designs of a completion queue. (SC'25 paper, section 5.1.4)
enum class attr_cq_type_t {
  array_atomic,  ///< One ring of fixed length. A status that finds the ring full is lost, and
                 ///< progress() throws std::runtime_error.
  lcrq           ///< A list of rings that grows. (Morrison and Afek, PPoPP'13)
};

/// The transports of a net context.
enum class attr_backend_t {
  none,  ///< The library chooses; see the attribute `backend`.
  ibv,   ///< InfiniBand or RoCE, through libibverbs.
  ofi,   ///< libfabric.
  ucx,   ///< Not part of this library: the allocation of a net context throws std::runtime_error.
  shm,   ///< Shared memory between the ranks of one host.
  sim,   ///< A simulated network, for tests.
  mixed  ///< Shared memory between ranks of one host; ibv or ofi between hosts.
};

/// The data structures in which a matching engine keeps waiting sends and receives.
enum class attr_matching_engine_type_t {
  queue,  ///< One list, searched from its front.
  map     ///< A hash table.
};

/// Defines how the receiver learns that all bytes of a rendezvous have arrived.
enum class attr_rdv_protocol_t {
  auto_select,  ///< `writeimm` where the network supports it, else `write`.
  write,        ///< By a message that follows the bytes.
  writeimm      ///< By the immediate data of the last put.
};

/// On-demand paging of registered memory (libibverbs).
enum class attr_ibv_odp_strategy_t {
  none,          ///< Registered memory is pinned.
  explicit_odp,  ///< Each registered region is paged on demand.
  implicit_odp   ///< All memory of the process is registered once and paged on demand. Peers can
                 ///< then reach all of it.
};
/// Prefetching of memory that is paged on demand, when it is registered (libibverbs).
enum class attr_ibv_prefetch_strategy_t {
  none,              ///< No prefetching.
  prefetch,          ///< Prefetch for reading (IBV_ADVISE_MR_ADVICE_PREFETCH).
  prefetch_write,    ///< Prefetch for writing (IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE).
  prefetch_no_fault  ///< Prefetch without page faults (IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT).
};
/// The use of thread domains (libibverbs). An adapter without thread domains is used without them.
/// (SC'25 paper, section 5.2.3)
enum class attr_ibv_td_strategy_t {
  none,    ///< No thread domains.
  all_qp,  ///< One thread domain for all queue pairs of a device.
  per_qp   ///< One thread domain for each queue pair.
};

/// The calls of the network that are wrapped in locks: a bit mask for the attribute
/// `ofi_lock_mode`, which has no effect in this library.
enum attr_net_lock_mode_t {
  LCI_NET_TRYLOCK_SEND = 1,       ///< Sends, with a try-lock.
  LCI_NET_TRYLOCK_RECV = 1 << 1,  ///< Receives, with a try-lock.
  LCI_NET_TRYLOCK_POLL = 1 << 2,  ///< Polls, with a try-lock.
  LCI_NET_LOCK_MR = 1 << 3,       ///< Registration of memory, with a lock.
  /// All of the above.
  LCI_NET_LOCK_ALL =
      LCI_NET_TRYLOCK_SEND | LCI_NET_TRYLOCK_RECV | LCI_NET_TRYLOCK_POLL | LCI_NET_LOCK_MR,
  LCI_NET_TRYLOCK_MAX = 1 << 4,  ///< Larger than every mask.
};

/// The algorithms of a broadcast.
enum class broadcast_algorithm_t {
  none,    ///< The library chooses: ring for 256 KiB and more on more than two ranks, else tree.
  direct,  ///< The root sends to each rank.
  tree,    ///< A binomial tree.
  ring     ///< The buffer passes from rank to rank in pieces; see `ring_nsteps`.
};
/// The algorithms of a reduce-scatter.
enum class reduce_scatter_algorithm_t {
  none,    ///< The library chooses: direct.
  direct,  ///< Each rank sends each block to the rank that needs it.
  tree,    ///< A binomial tree to rank 0, which distributes the blocks.
  ring     ///< From rank to rank in pieces, and blocks from the last rank; see `ring_nsteps`.
};
/// The algorithms of an allreduce.
enum class allreduce_algorithm_t {
  none,  ///< The library chooses: ring for 256 KiB and more on more than two ranks, else recursive
         ///< doubling.
  direct,  ///< Each rank sends its items to every rank.
  tree,    ///< A binomial tree to rank 0 and back.
  ring     ///< From rank to rank in pieces, and around again; see `ring_nsteps`.
};

/// Returns "none", "direct", "tree" or "ring". The string is static.
const char* get_broadcast_algorithm_str(broadcast_algorithm_t algorithm);
/// Returns "none", "direct", "tree" or "ring". The string is static.
const char* get_reduce_scatter_algorithm_str(reduce_scatter_algorithm_t algorithm);
/// The overload with the type of another collective; existing programs call it.
const char* get_reduce_scatter_algorithm_str(broadcast_algorithm_t algorithm);
/// Returns "none", "direct", "tree" or "ring". The string is static.
const char* get_allreduce_algorithm_str(allreduce_algorithm_t algorithm);
/// The overload with the type of another collective; existing programs call it.
const char* get_allreduce_algorithm_str(broadcast_algorithm_t algorithm);

/// The key by which a matching engine finds an entry.
using matching_entry_key_t = uint64_t;
/// The value of an entry of a matching engine; not null.
using matching_entry_val_t = void*;
/// The two kinds of entries of a matching engine. An entry matches one of the other kind.
enum class matching_entry_type_t : unsigned {
  send = 0,  ///< A send.
  recv = 1   ///< A receive.
};

/// A function of the program that makes the key of a send or receive. A send and a receive with
/// equal keys match. Any thread may call it at any time.
/// @param rank the rank of the sender.
using matching_make_key_t = matching_entry_key_t (*)(int rank, tag_t tag, matching_policy_t policy);

/// @}

/// @addtogroup lci_network
/// @{

/// The kinds of entries that net_poll_cq writes.
enum class net_opcode_t {
  SEND,          ///< A send of this rank is complete.
  RECV,          ///< A message has arrived in the buffer of a receive.
  WRITE,         ///< A put of this rank is complete.
  REMOTE_WRITE,  ///< A put with immediate data of another rank has arrived.
  READ,          ///< A get of this rank is complete.
  ERROR          ///< An operation or a peer has failed.
};

/// Returns the name of the enumerator, as "SEND" or "RECV". The string is static.
const char* get_net_opcode_str(net_opcode_t opcode);

/// An entry that net_poll_cq writes.
struct net_status_t {
  net_opcode_t opcode = net_opcode_t::ERROR;  ///< The kind of the entry.
  int rank = -1;                              ///< The other rank.
  /// The user context of the operation; for RECV, that of the net_post_recv.
  void* user_context = nullptr;
  size_t length = 0;            ///< Number of bytes.
  net_imm_data_t imm_data = 0;  ///< The immediate data of a RECV or REMOTE_WRITE.
};

/// @}

/// @addtogroup lci_types
/// @{

/// A function of the program that a handler calls with the status of each completed operation. It
/// runs inside progress(), concurrently in several threads if several threads make progress. It may
/// post operations, with allow_retry(false), since it cannot wait; it must not block.
using comp_handler_t = void (*)(status_t status);

/// A function of the program that combines `n` items of `left` with `n` items of `right` and writes
/// the results to `dst`. The operator must be associative and need not be commutative: the library
/// keeps the order of the operands. `right` and `dst` may be the same memory.
using reduce_op_t = void (*)(const void* left, const void* right, void* dst, size_t n);

/// The interface of an allocator for the bytes of incoming active messages. Any thread may call
/// both functions at any time. See set_allocator.
struct allocator_base_t {
  virtual ~allocator_base_t() = default;
  /// Returns memory of `size` bytes. Null or an exception means that there is none; the message is
  /// then lost, and progress() throws std::runtime_error.
  virtual void* allocate(size_t size) = 0;
  /// Frees memory that allocate() returned.
  virtual void deallocate(void* ptr) = 0;
};
/// The allocator that uses malloc and free.
struct allocator_default_t : allocator_base_t {
  /// Calls std::malloc.
  void* allocate(size_t size) override { return std::malloc(size); }
  /// Calls std::free.
  void deallocate(void* ptr) override { std::free(ptr); }
};
/// The allocator of every runtime for which set_allocator was not called.
extern allocator_default_t g_allocator_default;

/// The bytes that a message, or a block of a collective operation, consists of: `count2` groups of
/// `count` pieces of `length` bytes each. Columns of a matrix, a transposed matrix and the faces of
/// a three-dimensional array have such layouts. The bytes are in the order of the pieces: first
/// those of the first group.
struct layout_t {
  size_t offset = 0;   ///< Bytes from the start of the memory or buffer to the first piece.
  size_t length = 0;   ///< Bytes of a piece.
  size_t count = 1;    ///< Pieces of a group.
  size_t stride = 0;   ///< Bytes from the start of a piece to the next one of its group.
  size_t count2 = 1;   ///< Groups.
  size_t stride2 = 0;  ///< Bytes from the start of a group to the next one.

  /// Returns the size of the message or block, in bytes.
  constexpr size_t size() const { return length * count * count2; }
};

/// @}

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_TYPES_HPP_
