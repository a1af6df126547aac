// The contract between the runtime and a network. A stranger who implements the two classes below
// and adds one line to registry.cc has added a backend; conformance/suite.h holds it to every
// sentence.
//
// Words: a *context* is one attachment of this rank to one network; a *device* is a complete set of
// network resources of a context. Device number `uid` of this rank exchanges messages with device
// number `uid` of the other ranks. Two threads that use different devices do not wait for each
// other.
#ifndef LCI_NET_BACKEND_H_
#define LCI_NET_BACKEND_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lci/api/types.hpp"
#include "lci/base/status.h"
#include "lci/boot/bootstrap.h"
#include "lci/net/capacity.h"
#include "lci/net/op.h"
#include "lci/net/registration_count.h"

namespace lci::net {

// What a device can do; constant for its life.
struct device_limits {
  size_t max_inject = 0;  // bytes of header + buffer of an injected send; at least 64
  size_t max_send = 0;    // bytes of a send that is not injected; at least max_inject
  size_t max_rma = 0;     // bytes of one put, put_imm or get; the runtime splits larger ones
  bool needs_registration =
      true;                       // op::local must be given where op.h says so; else it is not used
  bool has_put_imm = true;        // false: put_imm is never posted
  int put_imm_bits = 32;          // that a put_imm carries: 8, 16, 32, or 64 with op::imm_high
  bool has_add = false;           // add() can be of use
  bool polls_after_done = false;  // what is done may leave only while the sender polls: drained()
  size_t rma_short = 0;           // bytes: smaller put, put_imm and get never answer `posted`
};

// What the runtime asks for when it makes a device.
struct device_config {
  int uid = 0;  // 0, 1, 2, ... in the order of allocation; equal on all ranks
  size_t max_message =
      8192;  // the runtime wants to send messages of this many bytes (header included)
  // shm: the program wants to send messages of this many bytes by copy.
  size_t eager_size = size_t{32} << 10;
  // shm: a put of so many bytes or more whose target waits is copied by both ranks.
  size_t cooperative_copy_size = size_t{32} << 10;
  // ofi: bytes of a packet that small messages to one rank gather in.
  size_t coalescing_size = size_t{64} << 10;
  // ofi, over TCP: device::preferred_chunk(); 0: chosen.
  size_t piece_size = 0;
  attr_ibv_td_strategy_t ibv_td_strategy = attr_ibv_td_strategy_t::per_qp;
  // Of a network that has queues; the defaults of the attributes.
  queue_lengths queues = {768, 256, 4096};
  // Somebody will sleep on wait_descriptors(), which may make all that the device does dearer.
  bool sleeps = false;
};

class device {
 public:
  virtual ~device() = default;
  device(const device&) = delete;
  device& operator=(const device&) = delete;

  const device_limits& limits() const { return limits_; }

  // limits().needs_registration, or, of a device that reaches ranks in several ways, whether the
  // way to this one does.
  virtual bool needs_registration(int rank) const {
    static_cast<void>(rank);
    return limits_.needs_registration;
  }

  // Bytes of a put or put_imm whose target waits for it (op::latency_critical) that get to that
  // rank fastest at once: the runtime posts larger ones in such pieces, each when the one before is
  // complete. 1 to limits().max_rma, which is what bounds a post.
  virtual size_t preferred_chunk(int rank) const {
    static_cast<void>(rank);
    return limits_.max_rma;
  }

  // Starts one operation. Never blocks, never waits for a peer, allocates nothing, makes no system
  // call except what moves the bytes, wakes who sleeps on the device, or settles who uses it alone,
  // which gets ever rarer (ds/biased_lock.h).
  //   done         complete; there will be no completion for it. The buffer is the caller's again;
  //                for put the bytes are in the peer's memory, for put_imm they will be when the
  //                peer's completion is, for get they are in the buffer, for send the backend has a
  //                copy.
  //   posted       one completion with op.context will come out of poll. Buffer and registration
  //                belong to the device until then. Never the answer to an injected send. A put or
  //                get may need the target to poll before it completes.
  //   retry_lock   another thread is posting on the same resource; nothing happened.
  //   retry_nomem  the way to that rank is full; nothing happened. Progress (ours or the peer's)
  //                will make room.
  //   fatal        op.rank has failed (a completion of kind peer_failed was or will be given) or
  //                has ended its device, or, for put and get, the remote memory is not accessible
  //                (not registered or out of its bounds, where the network can tell). Nothing
  //                happened that can be relied on.
  // What the caller must ensure (not checked on this path): 0 <= rank < size, sizes within
  // limits(), registrations that cover the buffers, a non-null buffer where size > 0. Order:
  // injected sends and sends from one thread to one rank through one device arrive in the order
  // posted. A put_imm is visible at the target when its completion is; nothing else is ordered.
  // Thread safety: any thread at any time, also inside the processing of a completion.
  virtual error_t post(const op& operation) = 0;

  // post() of an injected send without a header: most of all posts, and nothing but these four
  // values. As it is here it calls post; a network may have a shorter way.
  virtual error_t inject(int rank, net_imm_data_t imm, const void* buffer, size_t size);

  // post() of a put, a put_imm or a get of less than limits().rma_short bytes, where no
  // registration is needed: likewise.
  virtual error_t put(int rank, const void* buffer, size_t size, remote_region remote,
                      uint64_t remote_offset);
  virtual error_t put_imm(int rank, net_imm_data_t imm, const void* buffer, size_t size,
                          remote_region remote, uint64_t remote_offset);
  virtual error_t get(int rank, void* buffer, size_t size, remote_region remote,
                      uint64_t remote_offset);

  // Adds `value` to the 64-bit integer at that place of a peer's memory, which context::
  // allocate_memory made, in one atomic step, without the peer. Who sees the sum there (acquire)
  // sees the bytes of every put of this thread that was done before, or whose completion it had.
  // False: nothing happened, and it cannot be done, now or ever. Never blocks. Thread safety: any
  // thread at any time.
  virtual bool add(int rank, remote_region remote, uint64_t remote_offset, int64_t value);

  // Moves the network forward and writes up to `max` completions to `out`. Never blocks. `*count`
  // says how many were written. Returns done when anything moved (also without a completion), retry
  // when there was nothing to do, retry_lock when another thread is polling (then *count is 0).
  // Messages of one peer come out in the order of posting; when several threads poll, each gets a
  // part of them. A recv completion has its bytes (is_small), or lends them: they stay readable, at
  // the same place, until release(lease). A device whose leases are held back cannot receive more
  // than its ring holds, so release soon; order does not matter. Nothing that a peer writes can
  // make poll read outside the device's own memory: a malformed message ends that peer
  // (peer_failed) and is logged. Thread safety: any thread at any time.
  virtual error_t poll(completion* out, size_t max, size_t* count) = 0;

  // Ends the loan of a recv completion. Each lease is released exactly once, by any thread. Nothing
  // to do for one that is_small.
  virtual void release(const completion& received) = 0;

  // True when every operation that was posted has been handed to the network for good: after it,
  // this rank may stop polling without keeping a peer waiting for bytes of ours. Conservative: may
  // say false for a while.
  virtual bool drained() = 0;

  // ---- For one thread that would rather sleep than poll in vain. Off the fast path.

  // Where nothing tells of what comes, who sleeps looks again after this time; so does one to whom
  // a device says that what it has left to do needs a poll soon.
  static constexpr std::chrono::microseconds short_sleep{1000};
  // Who sleeps longer would keep the device from what it does by time (asking for signs of life,
  // repeating what may be lost) for too long.
  static constexpr std::chrono::microseconds long_sleep{20000};

  // What poll(2) finds readable, between an arm() and the next call of it, as soon as there is
  // something to do: what a peer has sent, the end of an operation, or what another thread's post
  // has left to a poll. (Not what a release gives back: that waits for the next poll.) The
  // device's, as long as it lives; to be read by nobody. They may be readable for no reason, but
  // not for ever while somebody arms and polls. Empty, if device_config::sleeps was not set, and
  // where nothing tells: shared memory has nothing that a peer could make readable but by a system
  // call, and to know whether anybody sleeps each message would have to read another rank's memory.
  virtual std::vector<int> wait_descriptors() const { return {}; }

  // To be called before each sleep, behind a poll that found nothing. For how long the caller may
  // sleep, unless one of the descriptors becomes readable: long_sleep at most. 0: there is
  // something to do, or another thread is doing something; poll first. The last look is part of
  // this call: what it has not seen makes a descriptor readable. Does what the device does by time,
  // so that who polls once between sleeps is enough for that. Never blocks; makes system calls.
  // Thread safety: beside all others at any time, but by one thread at a time.
  virtual std::chrono::microseconds arm() { return short_sleep; }

 protected:
  explicit device(const device_limits& limits) : limits_(limits) {}
  device_limits limits_;
};

class context {
 public:
  virtual ~context() = default;
  context(const context&) = delete;
  context& operator=(const context&) = delete;

  // As in its backend_entry ("shm"), of the network that it is: one backend may make the context of
  // another, where that has all that the job needs. The attribute `backend` says this one.
  virtual const char* name() const = 0;

  // For people, in a line that the runtime writes: what it goes through, such as
  // "ofi (provider tcp;ofi_rxm on eth0)".
  virtual std::string description() const { return name(); }

  // Collective over the ranks of the job for each uid: every rank makes the device of that uid.
  // Several may be under way at the same time in different threads. May block, bounded by the
  // bootstrap's default timeout; an error names what was missing (the rank, or the resource and its
  // size). All ranks that return a device can reach each other through it at once. A device is
  // destroyed before its context, with no operation and no lease outstanding. Destruction is local:
  // peers that still hold their device see no failure from it, and what was sent before (done, or
  // drained) still arrives.
  virtual base::StatusOr<std::unique_ptr<device>> make_device(const device_config& config) = 0;

  // Registers [address, address + size) for use by all devices of this context, those made
  // later too. The memory must stay mapped until it is deregistered. Overlapping and repeated
  // registrations are independent. size may be 0. Not on the per-message fast path, but cheap: no
  // collective, no waiting.
  virtual base::StatusOr<local_region> register_memory(void* address, size_t size) = 0;
  virtual void deregister_memory(local_region region) = 0;

  // Memory that the context allocates for the program.
  struct allocation {
    void* address = nullptr;
    size_t size = 0;
    local_region region;
  };
  // `size` zero bytes, which may be 0, at a multiple of 4096; registered; of the kind that peers of
  // this network reach best. The same promises as register_memory's, but that it may make system
  // calls. Memory that is not used takes none.
  virtual base::StatusOr<allocation> allocate_memory(size_t size);
  // Once, and before the context ends. Memory that was not freed ends with the context; what peers
  // have mapped of it stays.
  virtual void free_memory(const allocation& freed);

  // Whether the ranks can map each other's memory. Equal on all ranks.
  virtual bool maps_memory() const { return false; }
  // Whether this rank can map the memory of that one, which may be itself. Equal on both ranks.
  // True for all if maps_memory().
  virtual bool maps_memory_of(int rank) const {
    static_cast<void>(rank);
    return maps_memory();
  }
  // Where the first `size` bytes of memory lie in this process that `rank` has allocated with
  // allocate_memory and opened as `region`. Loads and stores of both ranks reach the same bytes, as
  // those of two threads do, while this context lives. Null if they cannot be mapped. May make
  // system calls.
  virtual void* map_memory(int rank, remote_region region, size_t size);

  // Whether read_memory can read from that rank.
  virtual bool reads_memory(int rank) const;
  // Copies bytes that lie at `from` in the address space of a rank, without that rank, which need
  // not have registered them. False if they cannot be read. Does not order the copy: the caller has
  // learned of the bytes from the rank. May make system calls. Thread safety: any thread at any
  // time.
  virtual bool read_memory(int rank, void* to, uint64_t from, size_t size) const;

  // Registrations that this rank has with the network now: those of register_memory,
  // allocate_memory and make_device, each as often as the network has it. Exact while none is made
  // or ended. config::max_registrations bounds them: what needs more fails (ResourceExhausted).
  virtual size_t registrations() const { return registrations_.now(); }

  // What a peer needs to name the region. Accessible for all ranks of the job until it is
  // deregistered.
  virtual remote_region remote_key(local_region region) const = 0;

 protected:
  explicit context(size_t max_registrations = 0) : registrations_(max_registrations) {}
  registration_count registrations_;
};

// What the program chose of a network, and equal on all ranks. A backend ignores what it has no
// choice of.
struct context_config {
  std::string provider;            // ofi: of libfabric; empty: the best that all ranks have
  std::string interface;           // the network's name of it ("eth0", "mlx5_0:1"); empty: the best
  int ibv_gid_index = -1;          // this and below as the attributes of that name
  bool ibv_always_by_gid = false;  // ibv_force_gid_auto_select
  attr_ibv_odp_strategy_t ibv_odp_strategy = attr_ibv_odp_strategy_t::none;
  attr_ibv_prefetch_strategy_t ibv_prefetch_strategy = attr_ibv_prefetch_strategy_t::none;
  int ibv_eager_ranks = 64;
  size_t max_registrations = 0;  // 0: no limit of ours
};

// Makes the context of this rank. Collective; `boot` outlives the context.
using context_factory = base::StatusOr<std::unique_ptr<context>> (*)(boot::bootstrap& boot,
                                                                     const context_config& config);

// Something that a person may want to know of a backend on this host, such as {"port", "mlx5_0:1"}.
struct backend_fact {
  std::string name;
  std::string value;
};

// What the library knows of a backend before it is used. registry.cc lists them all.
struct backend_entry {
  attr_backend_t id;
  const char* name;     // as in LCI_ATTR_BACKEND
  int preference;       // the available backend with the highest one is the default; < 0: never
  bool (*available)();  // cheap, local, no side effects: can this host use it at all?
  context_factory make;
  // For people. May load the network's library. The error says why this host cannot use the
  // backend.
  base::StatusOr<std::vector<backend_fact>> (*describe)() = nullptr;
};
// attr_backend_t::none chooses: by preference where all ranks are on one host, else one that joins
// those of a host with one way and hosts with another. Null if there is no such backend in this
// binary.
const backend_entry* find_backend(attr_backend_t id, bool one_host);
const backend_entry* find_backend(std::string_view name);
// Every backend in this binary.
std::vector<const backend_entry*> list_backends();
// For tests: `by` (which outlives all use) is found instead of the backend with its id. Before any
// is looked for.
void replace_backend(const backend_entry& replacement);

}  // namespace lci::net

#endif  // LCI_NET_BACKEND_H_
