/// @file
/// Counters of the communication of this rank.

/// @defgroup lci_counters Counters
/// Counts of what this rank has communicated so far: messages and bytes by kind and by peer, and
/// what stood in their way.
///
/// Traffic is counted in programs that start with the variable `LCI_STATS=1`, which also prints a
/// table of all ranks when the runtime is freed. Without it the library executes no instruction for
/// these counters, and they stay 0. Events off the usual way of a message (unexpected messages, the
/// backlog, yields, an exhausted packet pool, registrations) are counted in every program.
#ifndef LCI_API_COUNTERS_HPP_
#define LCI_API_COUNTERS_HPP_

#include <cstdint>
#include <vector>

#include "lci/api/option.hpp"
#include "lci/api/resource.hpp"

#pragma GCC visibility push(default)

namespace lci {

/// @addtogroup lci_counters
/// @{

/// Messages, or operations, and their bytes. Bytes are those of the program; headers do not count.
struct traffic_t {
  /// Number of messages or operations.
  uint64_t messages = 0;
  /// Their bytes.
  uint64_t bytes = 0;
};

/// The traffic with one rank.
struct peer_counters_t {
  /// The other rank, which may be this one.
  int rank = 0;
  /// Messages to that rank, of all kinds, and puts.
  traffic_t sent;
  /// Messages from that rank, of all kinds, and gets of this rank. (The bytes of puts arrive
  /// without the target.)
  traffic_t received;
};

/// The counters of one device. An operation counts when the network has accepted it. The messages
/// of collective operations count as tagged ones. A put or get that is larger than the network's
/// maximum counts once for each piece.
struct device_counters_t {
  /// Number of the device.
  int uid = 0;

  /// Active messages that were sent by copy (inject, buffer copy and zero copy).
  traffic_t sent_am;
  /// Sends to a matching engine that traveled by copy.
  traffic_t sent_tagged;
  /// Larger messages of both kinds, when they were announced to the receiver (rendezvous).
  traffic_t sent_large;
  /// Puts of the program.
  traffic_t puts;
  /// Gets of the program.
  traffic_t gets;
  /// Puts by which the library moves the bytes of larger messages, in one or more pieces. These are
  /// the bytes of `sent_large` again.
  traffic_t rendezvous_puts;
  /// Larger messages whose bytes the library has read in the memory of the sender. These are bytes
  /// of `received_large` again.
  traffic_t rendezvous_gets;
  /// Messages of the library itself: answers to announcements and notifications.
  uint64_t control_sent = 0;

  /// As `sent_am`, from other ranks.
  traffic_t received_am;
  /// As `sent_tagged`, from other ranks.
  traffic_t received_tagged;
  /// As `sent_large`, announced by other ranks; a message that is rejected counts, too.
  traffic_t received_large;
  /// Notifications that came with a put of another rank.
  uint64_t notified = 0;
  /// As `control_sent`, from other ranks.
  uint64_t control_received = 0;

  /// Attempts that the network refused because another thread was posting (`retry_lock`).
  uint64_t refused_lock = 0;
  /// Attempts that the network refused because the path to the peer was full (`retry_nomem`).
  uint64_t refused_full = 0;
  /// Attempts that failed because the peer or its memory is gone (`fatal`).
  uint64_t refused_fatal = 0;

  /// Polls of the network.
  uint64_t polls = 0;
  /// Those that found nothing.
  uint64_t empty_polls = 0;
  /// Those that left the device to another thread that was polling it.
  uint64_t busy_polls = 0;

  /// Operations that waited in the backlog. In every program.
  uint64_t backlogged = 0;
  /// Times that a polling thread yielded its processor. In every program.
  uint64_t yields = 0;

  /// The ranks that this device communicated with, by rank.
  std::vector<peer_counters_t> peers;
};

/// The counters of one matching engine; in every program.
struct matching_engine_counters_t {
  /// Number of the engine: 0 is that of collective operations, 1 the default one.
  uint32_t id = 0;
  /// Messages that arrived before their receive.
  uint64_t unexpected = 0;
  /// Their bytes.
  uint64_t unexpected_bytes = 0;
};

/// The counters of one packet pool; in every program.
struct packet_pool_counters_t {
  /// Packets of the pool.
  uint64_t packets = 0;
  /// Packets that were in use at the same time, approximately: those that have ever been used.
  uint64_t used = 0;
  /// Packets in use now.
  uint64_t in_use = 0;
  /// Times that a packet was wanted and none was left (`retry_nopacket`).
  uint64_t exhausted = 0;
  /// Bytes of larger packets that the pool keeps for later messages (attribute `packet_kept_bytes`).
  uint64_t kept_bytes = 0;
};

/// The counters of a runtime.
struct counters_t {
  /// Whether traffic is counted (`LCI_STATS`).
  bool counts_traffic = false;
  /// Registrations that this rank has with its networks now.
  uint64_t registrations = 0;
  /// The devices, in the order of allocation.
  std::vector<device_counters_t> devices;
  /// The sum of the devices that have been freed; its `uid` is -1.
  device_counters_t freed_devices;
  /// The matching engines that have not been freed, in the order of allocation.
  std::vector<matching_engine_counters_t> matching_engines;
  /// The packet pools that have not been freed, in the order of allocation.
  std::vector<packet_pool_counters_t> packet_pools;
};

/// Reads the counters of this rank.
///
/// The result includes the operations whose calls returned before, and may include those of other
/// threads that are in progress. Counters only grow, except `registrations` and `in_use`.
/// Allocates memory; not for fast paths. Thread-safe. Options: `runtime`; `device` restricts the
/// result to one device, without matching engines and packet pools.
class [[nodiscard]] get_counters_x : public option::runtime_option<get_counters_x>,
                                     public option::device_option<get_counters_x> {
 public:
  /// Sets every option to its default.
  [[nodiscard]] get_counters_x() = default;
  /// Reads the counters.
  /// @throws std::logic_error if there is no runtime.
  counters_t operator()() const;
};
/// get_counters_x with the default of every option.
/// @relates get_counters_x
inline counters_t get_counters() { return get_counters_x()(); }

/// @}

}  // namespace lci

#pragma GCC visibility pop

#endif  // LCI_API_COUNTERS_HPP_
