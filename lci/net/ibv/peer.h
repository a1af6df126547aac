// What a device knows of another rank.
#ifndef LCI_NET_IBV_PEER_H_
#define LCI_NET_IBV_PEER_H_

#include <atomic>
#include <chrono>
#include <cstdint>

#include "lci/net/ibv/send_queue.h"
#include "lci/net/ibv/wire.h"

namespace lci::net::ibv {

enum class peer_state : uint8_t {
  unconnected,
  alive,
  suspected,  // something is wrong; what it sent before is still to be read
  ended,      // it has ended its device
  failed,     // it was reported as failed
};

// How far a new beginning of the queue pair for puts and gets is.
enum class renewal : uint8_t {
  none,
  emptying,  // what was in it comes out
  asking,    // the peer's end is to be made new
  asked,     // it has been told so
};

struct peer {
  // Written by who polls, and where that makes posts impossible under the locks of the queues.
  std::atomic<peer_state> state{peer_state::unconnected};
  send_queue messages;
  send_queue writes;           // puts and gets
  bool writes_broken = false;  // guarded by the lock of writes

  std::atomic<bool> wanted{false};  // somebody wants to post to it, and it is not connected

  // Of who polls.
  queue_pair_numbers theirs = {};
  offer offered = {};
  bool waiting = false;  // in the device's list of those that something is to be done for
  bool owes_renewed = false;
  renewal stage = renewal::none;
  uint32_t first_write = 0;   // number of the first packet of the new queue pair for writes
  uint32_t flushed = 0;       // of what is in `writes`, from the front, while it is broken
  bool meets = false;         // queue pairs are made for it, see meeting.cc
  bool is_connected = false;  // and know the peer's
  std::chrono::steady_clock::time_point next_hail;
  std::chrono::steady_clock::time_point give_up;
  std::chrono::milliseconds pause{0};
  bool pulse_asked = false;
  uint32_t pulses = 0;  // that were answered
  int misses = 0;       // pulses that were not, since the last that was
  std::chrono::steady_clock::time_point silent_since;  // when the first of these was asked for
  bool bye_sent = false;
  bool bye_taken = false;           // the peer's device has it
  std::atomic<bool> marked{false};  // a marker is under way
  uint32_t suspected_at = 0;        // rdma_device::emptied_
};

}  // namespace lci::net::ibv

#endif  // LCI_NET_IBV_PEER_H_
