// The contract between the runtime and a network. A backend implements the two classes below and
// has one line in registry.cc. Every sentence is binding; conformance/suite.h tests most of them.
// docs/adding-a-backend.md builds a complete one.
//
// A *context* is one attachment of this rank to one network. A *device* is a complete set of
// network resources of a context. Device number `uid` of this rank exchanges messages with device
// number `uid` of the other ranks. Two threads that use different devices do not wait for each
// other.
#ifndef LCI_NET_BACKEND_H_
#define LCI_NET_BACKEND_H_

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lci/api/attr.hpp"
#include "lci/api/types.hpp"
#include "lci/base/status.h"
#include "lci/base/thread_place.h"
#include "lci/boot/bootstrap.h"
#include "lci/net/capacity.h"
#include "lci/net/op.h"
#include "lci/net/registration_count.h"

namespace lci::net {

// The capabilities of a device; constant for its life.
struct device_limits {
  size_t max_inject = 0;  // bytes of header + buffer of an injected send; at least 64
  size_t max_send = 0;    // bytes of a send that is not injected; at least max_inject
  size_t max_rma = 0;     // bytes of one put, put_imm or get; the runtime splits larger ones
  bool needs_registration = true;  // false: the device ignores op::local
  bool has_put_imm = true;         // false: the runtime never posts a put_imm
  int put_imm_bits = 32;           // carried by a put_imm: 8, 16, 32, or 64 with op::imm_high
  bool has_add = false;            // false: add() always returns false
  bool polls_after_done = false;   // a done operation may need polls of the sender; see drained()
  size_t rma_short = 0;            // bytes; a smaller put, put_imm or get never returns `posted`
  bool serves_threads_apart = false;  // threads that post and poll do not wait for each other
  size_t timed_below = 0;  // bytes; the device measures messages of fewer: came() is for them
  // Bytes of the pieces in which a latency-critical put or put_imm (op::latency_critical) arrives
  // fastest; 0: max_rma. The runtime posts a larger one in pieces of this size, each when the
  // previous one is complete.
  size_t latency_critical_piece = 0;
};

// Ok if a device may have these limits. The error names the limit and its value.
base::Status check_limits(const device_limits& limits);

// The runtime's requirements on a new device.
struct device_config {
  int uid = 0;  // 0, 1, 2, ... in the order of allocation; equal on all ranks
  // The runtime wants to send messages of this many bytes (header included). A device may offer
  // less: the runtime moves what is larger by puts and gets.
  size_t max_message = 8192;
  // Of a network that has queues. These are the defaults of the attributes.
  queue_lengths queues = {768, 256, 4096};
  // A backend reads those that are about it, and `progress_thread`: a thread will sleep on
  // wait_descriptors(), which may make every operation more expensive.
  device_attr_t attr;
};

class device {
 public:
  virtual ~device() = default;
  device(const device&) = delete;
  device& operator=(const device&) = delete;

  // The limits that hold for every rank.
  const device_limits& limits() const { return limits_; }
  // The limits that hold for that rank. They differ from limits() only in a device that reaches its
  // peers in several ways, and there only in the sizes and in needs_registration.
  virtual const device_limits& limits(int /*rank*/) const { return limits_; }

  // Starts one operation. Never blocks, never waits for a peer, allocates nothing. Makes no system
  // call except those that move the bytes, wake a thread that sleeps on the device, or end a
  // thread's exclusive use of a lock, which is rare unless it pays (ds/ownership.h).
  //   done         complete; there will be no completion for it. The buffer is the caller's again;
  //                for put the bytes are in the peer's memory, for put_imm they will be when the
  //                peer's completion is, for get they are in the buffer, for send the backend has a
  //                copy (and, with op.network_semantic, needs no poll to send it).
  //   posted       one completion with op.context will come out of poll. Buffer and registration
  //                belong to the device until then. Never the answer to an injected send. A put or
  //                get may need the target to poll before it completes. If op.rank fails or ends
  //                its device first, the completion still comes, in any order with a completion of
  //                kind peer_failed; it says `failed`, unless the operation took effect.
  //   retry_lock   another thread is posting on the same resource; nothing happened.
  //   retry_nomem  the way to that rank is full; nothing happened. Progress (of either rank)
  //                will make room.
  //   fatal        op.rank has failed (poll has returned or will return a completion of kind
  //                peer_failed) or has ended its device; or, for put, put_imm and get, the remote
  //                memory is not accessible (not registered, out of its bounds, or named by a
  //                remote_region with a changed base or key, where the network finds that). The
  //                target gets no notification. The caller can rely on no other effect.
  // The caller ensures, and this path does not check: 0 <= rank < size, sizes within limits(rank),
  // registrations that cover the buffers, a non-null buffer where size > 0. Order: injected sends
  // and sends from one thread to one rank through one device arrive in the order posted. The bytes
  // of a put_imm are visible at the target when its completion is; nothing else is ordered. Thread
  // safety: any thread at any time, also while it processes a completion.
  virtual error_t post(const op& operation) = 0;

  // Posts an operation that consists of no more than these parameters: an injected send without a
  // header, or a put, put_imm or get without a registration. Most operations are such, so a backend
  // may override it with a shorter implementation than post()'s. Answers done, retry_lock,
  // retry_nomem or fatal as post() does; or `retry`, when nothing happened and post() is the way:
  // the operation has more than limits(rank).max_inject bytes, or not less than
  // limits(rank).rma_short, or needs a registration, or it is a send that is_got_sooner() says the
  // receiver should get. Any size may be asked for. `where` is null for a send.
  virtual error_t post_short(short_op what, net_imm_data_t imm, void* buffer, size_t size,
                             const remote_place* where);

  // Atomically adds `value` to a 64-bit integer in memory that a peer has from
  // context::allocate_memory, without the peer's help. A thread of the peer that loads the sum
  // (acquire) also sees the bytes of every put that this thread completed before. False: nothing
  // happened, and the operation is impossible, now and later. Never blocks. Thread safety: any
  // thread at any time.
  virtual bool add(int rank, remote_region remote, uint64_t remote_offset, int64_t value);

  // Where `size` bytes of memory that a peer has open lie in this process. A processor's atomic
  // operations of both ranks on them are atomic with respect to each other. Null if this process
  // does not map them, or they are not open: then they are reached by messages alone. The address
  // is for use at once, as the memory of a put. May make system calls the first time. Thread
  // safety: any thread at any time.
  virtual void* mapped_address(int /*rank*/, remote_region /*remote*/, uint64_t /*remote_offset*/,
                               size_t /*size*/) {
    return nullptr;
  }

  // Whether a message of `size` bytes is used sooner by that rank if the rank gets the bytes by
  // read_memory() than if this rank sends or puts them. `alone`: no other large message of this rank
  // is under way, so that this rank has nothing else to copy; it makes no difference for messages of
  // up to limits(rank).max_inject bytes. The answer may change at any time. Thread safety: any
  // thread at any time; wait-free.
  virtual bool is_got_sooner(int /*rank*/, size_t /*size*/, bool /*alone*/) const { return false; }
  // A message of `size` bytes, fewer than limits(rank).timed_below, for which is_got_sooner() was
  // asked, and that was alone all the time, is at that rank, which `got` it or not. `time`: from when
  // this rank announced it until it knew. Thread safety: any thread at any time; wait-free.
  virtual void came(int /*rank*/, size_t /*size*/, bool /*got*/,
                    std::chrono::nanoseconds /*time*/) {}
  // As context::read_memory, for memory of a rank whose is_got_sooner() is or was true for this one.
  // False also if that rank has failed.
  virtual bool read_memory(int /*rank*/, void* /*to*/, uint64_t /*from*/, size_t /*size*/) {
    return false;
  }

  // Makes progress, and writes up to `max` completions to `out`; their number is *count. Never
  // blocks. Returns done if anything moved (even without a completion), retry if there was nothing
  // to do, and retry_lock if another thread is polling (then *count is 0). Messages of one peer are
  // returned in the order of posting; if several threads poll, each gets a part of them. A recv
  // completion contains its bytes (is_small) or lends them: they stay readable at the same address
  // until release(). A device whose leases are not released cannot receive more than its ring
  // holds, so release soon; the order does not matter. Bytes that a peer writes cannot make poll
  // read outside the device's own memory: a malformed message is logged and fails that peer
  // (peer_failed). Thread safety: any thread at any time.
  virtual error_t poll(completion* out, size_t max, size_t* count) = 0;

  // A glance that costs less than a poll and takes no lock: true while a poll would most probably
  // find nothing. Always false on a network that cannot know. A caller may replace polls by glances
  // that are true, but not all: one in polls_per_look must be a poll, which also looks at what a
  // glance does not see. Thread safety: any thread at any time.
  bool seems_idle() const {
    const outlook& mine = outlooks_[base::known_thread_place() & outlook_mask_];
    const std::atomic<uint64_t>* const next = mine.event.load(std::memory_order_relaxed);
    if (next == nullptr) return false;
    __builtin_prefetch(mine.line.load(std::memory_order_relaxed));
    return next->load(std::memory_order_relaxed) == 0;
  }
  static constexpr uint32_t polls_per_look = 4;

  // Ends the loan of a recv completion. Each lease is released exactly once, by any thread. Has no
  // effect for a completion that is_small.
  virtual void release(const completion& received) = 0;

  // True if the network delivers all that this rank has posted without further polls of this rank,
  // which may then stop polling without keeping a peer waiting: answers that are owed to a peer's
  // put or get, which this rank has read, are sent, too. May return false for a while longer.
  virtual bool drained() = 0;

  // Whether that rank has ended its device, so that nothing more comes from it. May be false for a
  // while longer, and is always false for a rank that has failed and on a network that cannot know.
  // Makes no progress. Thread safety: any thread at any time. Off the fast path.
  virtual bool has_left(int /*rank*/) { return false; }

  // Whether a message of a peer waits for a poll; nullopt if that can't be told: another thread is
  // polling, or the network cannot know. For reports about a device that nobody polls. Makes no
  // progress, and may make the next poll of another thread slower. Thread safety: any thread at any
  // time; wait-free. Off the fast path.
  virtual std::optional<bool> has_arrivals() { return std::nullopt; }

  // Whether the process of that rank has ended or is about to, as a look from outside shows now.
  // Asked after an operation to the rank has failed, to distinguish a dead rank, which poll()
  // reports later, from a wrong access. False on a network that cannot know. Thread safety: any
  // thread at any time. Off the fast path.
  virtual bool has_died(int /*rank*/) { return false; }

  // For a thread that sleeps instead of polling in vain. Off the fast path.

  // The sleep of a device without descriptors, and of a device that needs a poll soon.
  static constexpr std::chrono::microseconds short_sleep{1000};
  // The upper bound on a sleep: liveness probes and retransmissions need a poll this often.
  static constexpr std::chrono::microseconds long_sleep{20000};

  // Descriptors that become readable (poll(2)) after an arm() as soon as there is work: a message
  // of a peer, the end of an operation, or work that another thread's post has left to a poll. (A
  // release() alone makes none readable.) The device owns them, and nobody else reads them. They
  // may be readable without a reason, but not for ever while a thread arms and polls. Empty if
  // the attribute `progress_thread` was not set, or if the network cannot notify: over shared
  // memory a peer would need a system call, and each message would have to read whether this rank
  // sleeps.
  virtual std::vector<int> wait_descriptors() const { return {}; }

  // The caller calls it before each sleep, after a poll that found nothing. Returns for how long
  // the caller may sleep unless a descriptor becomes readable: at most long_sleep. 0: there is
  // work, or another thread is working; poll first. Work that this call has not seen makes a
  // descriptor readable. Does the periodic work of the device, so that one poll between sleeps
  // suffices. Never blocks; makes system calls. Thread safety: concurrently with all other members,
  // but by one thread at a time.
  virtual std::chrono::microseconds arm() { return short_sleep; }

 protected:
  explicit device(const device_limits& limits) : limits_(limits) {}
  device_limits limits_;

  // What a glance looks at.
  struct alignas(64) outlook {
    // A word that is 0 until the event that is most likely next, such as a message of the peer that
    // sent the last one. Null: a poll is necessary. It lives as long as the device.
    std::atomic<const std::atomic<uint64_t>*> event{nullptr};
    // The line that will be read after that word, if it is another one; else any address. Each
    // glance fetches it, so that the two lines of an event arrive together.
    std::atomic<const void*> line{this};
  };
  outlook outlook_;
  // By the place of the thread (thread_place.h), modulo the number of outlooks, a power of two. A
  // device that does not serve its threads apart has one.
  const outlook* outlooks_ = &outlook_;
  uint32_t outlook_mask_ = 0;
};

class context {
 public:
  virtual ~context() = default;
  context(const context&) = delete;
  context& operator=(const context&) = delete;

  // The name of the network that it is, as in its backend_entry ("shm"), which the attribute
  // `backend` shows. One backend may make the context of another one that suffices for the job.
  virtual const char* name() const = 0;

  // For a log line of the runtime, such as "ofi (provider tcp;ofi_rxm on eth0)".
  virtual std::string description() const { return name(); }

  // Collective over the ranks of the job for each uid: every rank makes the device of that uid.
  // Several threads may make devices of different uids concurrently. May block, bounded by the
  // bootstrap's default timeout; an error names what was missing (the rank, or the resource and its
  // size). All ranks that return a device can reach each other through it at once. A device is
  // destroyed before its context, with no operation and no lease outstanding. Destruction is local:
  // peers that still hold their device see no failure from it, and messages sent before (done, or
  // drained) still arrive.
  virtual base::StatusOr<std::unique_ptr<device>> make_device(const device_config& config) = 0;

  // Registers [address, address + size) for use by all devices of this context, including those
  // made later. The memory must stay mapped until it is deregistered. Overlapping and repeated
  // registrations are independent. size may be 0. Cheap, though not for each message: it is not
  // collective and never waits.
  virtual base::StatusOr<local_region> register_memory(void* address, size_t size) = 0;
  virtual void deregister_memory(local_region region) = 0;

  // Memory that the context allocates for the program.
  struct allocation {
    void* address = nullptr;
    size_t size = 0;
    local_region region;
  };
  // Allocates and registers `size` zero bytes (possibly 0) at a multiple of 4096, of the kind that
  // peers reach fastest. Otherwise as register_memory; may make system calls. Pages that are never
  // used take no memory.
  virtual base::StatusOr<allocation> allocate_memory(size_t size);
  // At most once for each allocation. Memory that was not freed ends with the context, except where
  // peers have mapped it.
  virtual void free_memory(const allocation& freed);

  // Whether the ranks can map each other's memory. Equal on all ranks.
  virtual bool maps_memory() const { return false; }
  // Whether this rank can map the memory of that one, which may be itself. Equal on both ranks.
  // True for all if maps_memory().
  virtual bool maps_memory_of(int /*rank*/) const { return maps_memory(); }
  // Where the first `size` bytes of memory lie in this process that `rank` has allocated with
  // allocate_memory and opened as `region`. Loads and stores of both ranks reach the same bytes, as
  // those of two threads do, while this context lives. Null if they cannot be mapped. May make
  // system calls.
  virtual void* map_memory(int rank, remote_region region, size_t size);

  // Whether read_memory and write_memory reach the memory of that rank.
  virtual bool reaches_memory(int rank) const;
  // Copies bytes that lie at `from` in the address space of a rank, without that rank, which need
  // not have registered them. False if they cannot be read. Does not order the copy: the caller has
  // learned of the bytes from the rank. May make system calls. Thread safety: any thread at any
  // time.
  virtual bool read_memory(int rank, void* to, uint64_t from, size_t size) const;
  // The same to `to` in the address space of a rank, which learns of the bytes from the caller.
  virtual bool write_memory(int rank, uint64_t to, const void* from, size_t size) const;

  // The registrations that this rank now has with the network, by register_memory, allocate_memory
  // and make_device, each counted as often as the network has it. Exact while none is made or
  // ended. A call that would exceed context_config::max_registrations fails (ResourceExhausted). A
  // backend of several networks limits those that an adapter has few of.
  virtual size_t registrations() const { return registrations_.now(); }

  // For the backend: whether this process has made the context. A forked child has not; the
  // network's objects belong to its parent.
  bool is_owner_process() const { return getpid() == pid_; }

  // The name by which peers access the region, until it is deregistered.
  virtual remote_region remote_key(local_region region) const = 0;

 protected:
  explicit context(size_t max_registrations = 0) : registrations_(max_registrations) {}
  registration_count registrations_;

 private:
  const pid_t pid_ = getpid();
};

// The program's choices, equal on all ranks. A backend reads those that are about it, and
// `max_registrations`. The runtime obeys `max_msg_size`: it posts no larger put or get.
using context_config = net_context_attr_t;

// Makes the context of this rank. Collective; `boot` outlives the context.
using context_factory = base::StatusOr<std::unique_ptr<context>> (*)(boot::bootstrap& boot,
                                                                     const context_config& config);

// A fact about a backend on this host for lci_info, such as {"port", "mlx5_0:1"}.
struct backend_fact {
  std::string name;
  std::string value;
};

// An environment variable that the library reads, other than the default of an attribute. Texts for
// people.
struct variable {
  std::string_view name;
  std::string_view values;
  std::string_view builtin;  // the value of a variable that is not set
  std::string_view meaning;
};

// The properties of a backend that the library knows before its use. registry.cc lists all of them.
struct backend_entry {
  attr_backend_t id;    // none: it has only a name; see id_of
  const char* name;     // as in LCI_ATTR_BACKEND
  int preference;       // the available backend with the highest one is the default; < 0: never
  bool (*available)();  // cheap, local, no side effects: can this host use it at all?
  context_factory make;
  // For lci_info. May load the network's library. The error says why this host cannot use the
  // backend.
  base::StatusOr<std::vector<backend_fact>> (*describe)() = nullptr;
  // The attributes that all ranks must have alike, by name, with their values.
  std::vector<backend_fact> (*common)(const net_context_attr_t& attr,
                                      const device_attr_t& devices) = nullptr;
  // The environment variables that the backend reads.
  std::vector<variable> (*variables)() = nullptr;
};
// Null if this binary has no such backend. attr_backend_t::none chooses: the available backend with
// the highest preference if all ranks are on one host, else `mixed`, which uses one backend within
// a host and another one between hosts.
const backend_entry* find_backend(attr_backend_t id, bool one_host);
const backend_entry* find_backend(std::string_view name);
// The value of the attribute `backend` that means this backend, which the binary has. Backends
// without an enumerator get values behind the last one, in the order of the registry.
attr_backend_t id_of(const backend_entry& entry);
// Every backend in this binary.
std::vector<const backend_entry*> list_backends();

}  // namespace lci::net

#endif  // LCI_NET_BACKEND_H_
