// The plain types of the interface: codes, statuses, tags, and the enumerations that name choices.
#ifndef LCI_API_TYPES_HPP_
#define LCI_API_TYPES_HPP_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

#pragma GCC visibility push(default)

namespace lci {

// ---- numbers that travel with a message ----------------------------------------------------

using tag_t = uint64_t;           // chosen by the program; see max_tag of the runtime
using rcomp_t = uint32_t;         // names a completion object on another rank; 0 means none
using net_imm_data_t = uint32_t;  // what a network carries beside the bytes

constexpr int ANY_SOURCE = -1;
constexpr tag_t ANY_TAG = ~tag_t{0};

constexpr const char* DEFAULT_NAME = "default";

// ---- what became of an operation -----------------------------------------------------------

// The order matters: each category lies between its _min and _max.
enum class errorcode_t {
  done_min,
  done,          // complete: the completion object will not be signalled
  done_backlog,  // complete, after it had waited in the backlog
  done_max,
  posted_min,
  posted,          // under way: the completion object will be signalled once
  posted_backlog,  // accepted into the backlog: likewise
  posted_max,
  retry_min,
  retry,           // nothing happened; post it again later
  retry_init,      // the value of an error_t that nobody has set
  retry_lock,      // another thread is using the resource
  retry_nopacket,  // the packet pool is empty
  retry_nomem,     // the network's queue is full
  retry_backlog,   // older operations wait in the backlog
  retry_max,
  fatal,  // it cannot succeed
};

/// "done", "retry_lock", ... The string is static.
const char* get_errorcode_str(errorcode_t code);

/// What a call answered. A program that drops the answer of a post cannot know whether anything was
/// sent, so the compiler warns; a cast to void says that it is meant.
struct [[nodiscard]] error_t {
  errorcode_t errorcode = errorcode_t::retry_init;

  error_t() = default;
  error_t(errorcode_t code) : errorcode(code) {}  // NOLINT: implicit by interface

  bool is_done() const { return in(errorcode_t::done_min, errorcode_t::done_max); }
  bool is_posted() const { return in(errorcode_t::posted_min, errorcode_t::posted_max); }
  bool is_retry() const { return in(errorcode_t::retry_min, errorcode_t::retry_max); }
  void reset_retry() { errorcode = errorcode_t::retry; }
  const char* get_str() const { return get_errorcode_str(errorcode); }

 private:
  bool in(errorcode_t low, errorcode_t high) const { return errorcode > low && errorcode < high; }
};

/// What progress() answers: an error_t that a program may drop, as loops that wait for a completion
/// object do.
struct progress_result_t : error_t {
  using error_t::error_t;
  progress_result_t(error_t error) : error_t(error) {}  // NOLINT: implicit by design
};

// Returned by posting calls and handed to completion objects. A field that has no meaning for the
// operation keeps its default.
struct [[nodiscard]] status_t {
  error_t error;
  int rank = -1;           // the other side
  void* buffer = nullptr;  // where the bytes are
  size_t size = 0;         // bytes
  tag_t tag = 0;
  void* user_context = nullptr;  // as given when the operation was posted

  status_t() = default;
  status_t(errorcode_t code) : error(code) {}  // NOLINT: implicit by interface
  /// `done`, with this user context.
  explicit status_t(void* context) : error(errorcode_t::done), user_context(context) {}

  void set_done() { error = errorcode_t::done; }
  void set_posted() { error = errorcode_t::posted; }
  void set_retry() { error = errorcode_t::retry; }
  bool is_done() const { return error.is_done(); }
  bool is_posted() const { return error.is_posted(); }
  bool is_retry() const { return error.is_retry(); }
  error_t get_error() const { return error; }
  int get_rank() const { return rank; }
  void* get_buffer() const { return buffer; }
  size_t get_size() const { return size; }
  tag_t get_tag() const { return tag; }
  void* get_user_context() const { return user_context; }
};

// ---- failures ------------------------------------------------------------------------------

// Another rank is gone. Everything that does not need that rank goes on working.
class peer_failure_error : public std::runtime_error {
 public:
  peer_failure_error(int failed_rank, const std::string& what)
      : std::runtime_error(what), failed_rank_(failed_rank) {}
  int failed_rank() const noexcept { return failed_rank_; }

 private:
  int failed_rank_;
};

// ---- choices -------------------------------------------------------------------------------

enum class direction_t { OUT, IN };  // bytes leave this rank, or come to it

// When a send counts as complete locally: `memory`, the buffer may be reused; `network`, the
// message has also been handed to the other side.
enum class comp_semantic_t { memory, network };

// What a send and a receive must have in common to match, besides the matching engine.
// none: nothing, any pair matches. Sender and receiver must name the same policy.
enum class matching_policy_t : unsigned {
  none = 0,
  rank_only = 1,
  tag_only = 2,
  rank_tag = 3,
  max = 4
};

// What kind of completion object a comp_t is.
enum class attr_comp_type_t { sync, counter, cq, handler, graph, custom, signal };

// The two completion-queue designs: a list of rings that grows (lcrq), and one ring of fixed
// length (array_atomic) that is fatal to overrun.
enum class attr_cq_type_t { array_atomic, lcrq };

// Transport of a net context. `none` lets the library choose; `sim` is a simulation, for tests.
enum class attr_backend_t { none, ibv, ofi, ucx, shm, sim, mixed };

// How waiting sends and receives are kept: in one list, searched from its front, or in a hash
// table.
enum class attr_matching_engine_type_t { queue, map };

// How the receiver learns that the bytes of a rendezvous are in place: by a message behind them
// (write), or by the last put itself (writeimm). auto_select: writeimm where the network has it.
enum class attr_rdv_protocol_t { auto_select, write, writeimm };

// Of the libibverbs backend: on-demand paging, prefetching for it, and thread domains.
enum class attr_ibv_odp_strategy_t { none, explicit_odp, implicit_odp };
enum class attr_ibv_prefetch_strategy_t { none, prefetch, prefetch_write, prefetch_no_fault };
enum class attr_ibv_td_strategy_t { none, all_qp, per_qp };

/// Which calls of the network are wrapped in locks (attribute ofi_lock_mode). A bit mask.
enum attr_net_lock_mode_t {
  LCI_NET_TRYLOCK_SEND = 1,
  LCI_NET_TRYLOCK_RECV = 1 << 1,
  LCI_NET_TRYLOCK_POLL = 1 << 2,
  LCI_NET_LOCK_MR = 1 << 3,
  LCI_NET_LOCK_ALL =
      LCI_NET_TRYLOCK_SEND | LCI_NET_TRYLOCK_RECV | LCI_NET_TRYLOCK_POLL | LCI_NET_LOCK_MR,
  LCI_NET_TRYLOCK_MAX = 1 << 4,
};

/// How a collective is carried out; none lets the library choose.
enum class broadcast_algorithm_t { none, direct, tree, ring };
enum class reduce_scatter_algorithm_t { none, direct, tree, ring };
enum class allreduce_algorithm_t { none, direct, tree, ring };

/// "none", "direct", "tree" or "ring". The string is static. (The names that take another
/// collective's type are those that existing programs can call.)
const char* get_broadcast_algorithm_str(broadcast_algorithm_t algorithm);
const char* get_reduce_scatter_algorithm_str(reduce_scatter_algorithm_t algorithm);
const char* get_reduce_scatter_algorithm_str(broadcast_algorithm_t algorithm);
const char* get_allreduce_algorithm_str(allreduce_algorithm_t algorithm);
const char* get_allreduce_algorithm_str(broadcast_algorithm_t algorithm);

// ---- matching ------------------------------------------------------------------------------

using matching_entry_key_t = uint64_t;
using matching_entry_val_t = void*;
enum class matching_entry_type_t : unsigned { send = 0, recv = 1 };

// Makes the key under which a send or receive is looked for. Equal keys match.
using matching_make_key_t = matching_entry_key_t (*)(int rank, tag_t tag, matching_policy_t policy);

// ---- the network by itself -------------------------------------------------------------------

enum class net_opcode_t { SEND, RECV, WRITE, REMOTE_WRITE, READ, ERROR };

/// "SEND", "RECV", ... The string is static.
const char* get_net_opcode_str(net_opcode_t opcode);

struct net_status_t {
  net_opcode_t opcode = net_opcode_t::ERROR;
  int rank = -1;
  void* user_context = nullptr;  // of the operation; of a RECV that of the net_post_recv
  size_t length = 0;             // bytes
  net_imm_data_t imm_data = 0;
};

// ---- functions of the program ----------------------------------------------------------------

// Runs inside progress(), in several threads at the same time if several make progress. It may post
// (with allow_retry(false), since it cannot wait), but must not block.
using comp_handler_t = void (*)(status_t status);

// Combines `n` items of left and right into dst, in this order (the operator need not be
// commutative, but must be associative). right and dst may be the same.
using reduce_op_t = void (*)(const void* left, const void* right, void* dst, size_t n);

// ---- memory for incoming messages ------------------------------------------------------------

// Where the bytes of incoming active messages are put. Both members may be called by any thread
// at any time.
struct allocator_base_t {
  virtual ~allocator_base_t() = default;
  virtual void* allocate(size_t size) = 0;  // null or an exception: there is no memory
  virtual void deallocate(void* ptr) = 0;
};
struct allocator_default_t : allocator_base_t {  // malloc and free
  void* allocate(size_t size) override { return std::malloc(size); }
  void deallocate(void* ptr) override { std::free(ptr); }
};
extern allocator_default_t g_allocator_default;

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_TYPES_HPP_
