// A network that exists in memory only, for tests: many ranks in one process, with delays,
// reordering between pairs of ranks, refusals and the loss of a rank, all by a seed.
#ifndef LCI_NET_SIM_FABRIC_H_
#define LCI_NET_SIM_FABRIC_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "lci/net/backend.h"
#include "lci/net/sim/settings.h"

namespace lci::net::sim {

// The network that all ranks of a job share. Every decision is made by the numbers of the device
// that it is about, in the order of that device's calls: when the ranks are driven by one thread,
// or by threads that take turns (set_step_hook), the same seed gives the same run; trace() is its
// fingerprint.
//
// The contract of the runtime's side is checked: an operation beyond the limits, without the
// registration that it needs, or whose buffer changes while the network has it, ends the process.
//
// Thread safety: every member by any thread at any time. One mutex guards all: a simulator may
// wait.
class fabric {
 public:
  fabric(int ranks, const settings& how);
  fabric(const fabric&) = delete;
  fabric& operator=(const fabric&) = delete;

  // Makes each thread call `hook` before each of its posts, adds and polls, with any fabric of this
  // process: for tests that decide which thread runs. Null ends that.
  static void set_step_hook(void (*hook)());

  const settings& how() const { return how_; }
  uint64_t trace() const;

  // The calls of the contract, each with the device that makes it.
  void open_device(int rank, int uid);
  void close_device(int rank, int uid);
  error_t post(int rank, int uid, const op& operation);
  bool add(int rank, int peer, remote_region remote, uint64_t remote_offset, int64_t value);
  bool read_memory(int rank, int peer, void* to, uint64_t from, size_t size);
  error_t poll(int rank, int uid, completion* out, size_t max, size_t* count);
  void release(int rank, int uid, uint64_t lease);
  bool drained(int rank, int uid);
  bool has_left(int rank, int uid);
  bool has_died(int rank) const;
  bool has_arrivals(int rank, int uid);
  local_region register_memory(int rank, void* address, size_t size);
  void deregister_memory(int rank, local_region region);
  remote_region remote_key(int rank, local_region region) const;
  // Where the first `size` bytes of that region of the rank lie; null: it has no such region.
  void* find_memory(int rank, remote_region region, size_t size) const;

  // `rank` is gone from now on: what it had sent may be lost from any message on, no message to or
  // from it is delivered any more, and its peers are notified within some ticks. What it has posted
  // fails when it polls.
  void lose(int rank);

 private:
  struct message {
    completion_kind kind;  // recv or remote_put
    net_imm_data_t imm;
    net_imm_data_t imm_high;
    std::vector<unsigned char> bytes;
    uint64_t due;
    bool ready;  // false: the sender's buffer has not been read
    uint64_t number;
  };
  // From one rank to a device of another.
  struct channel {
    std::deque<message> messages;
    uint64_t last_due = 0;
    uint64_t next_number = 0;
  };
  // An operation that was posted.
  struct pending {
    op operation;
    uint64_t due;
    uint64_t checksum;        // of the buffer, of a send or put
    uint64_t message_number;  // of a send
  };
  struct device_state {
    bool open = false;
    uint64_t random = 0;
    std::vector<channel> from;  // by rank
    std::deque<pending> posted;
    std::map<uint64_t, std::vector<unsigned char>> leases;
    uint64_t next_lease = 1;
    std::vector<uint64_t> failure_due;  // by rank; 0: alive, or notified
  };
  struct region {
    unsigned char* base;
    size_t size;
  };
  struct rank_state {
    bool lost = false;
    std::map<int, device_state> devices;
    std::map<uint64_t, region> regions;
    uint64_t next_region = 0;  // of a random sequence
  };

  rank_state& rank_of(int rank) { return ranks_[static_cast<size_t>(rank)]; }
  const rank_state& rank_of(int rank) const { return ranks_[static_cast<size_t>(rank)]; }
  device_state& device_of(int rank, int uid);
  void check(int rank, const op& operation) const;
  unsigned char* find_remote(const op& operation);
  bool execute(int rank, int uid, const op& operation, const pending* was);
  void enqueue(int rank, int uid, const op& operation, completion_kind kind, bool ready);
  bool chance(device_state& device, int percent);
  uint64_t due_in(device_state& device);
  void record(uint64_t a, uint64_t b, uint64_t c);

  const settings how_;
  mutable std::mutex mutex_;
  uint64_t now_ = 1;
  uint64_t trace_ = 0;
  std::vector<rank_state> ranks_;
};

}  // namespace lci::net::sim

#endif  // LCI_NET_SIM_FABRIC_H_
