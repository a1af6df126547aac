#ifndef LCI_NET_OFI_PACKET_PATH_H_
#define LCI_NET_OFI_PACKET_PATH_H_

#include <cstddef>
#include <cstdint>

#include "lci/base/cache_aligned.h"
#include "lci/base/status.h"
#include "lci/net/fifo.h"
#include "lci/net/mpsc_free_list.h"
#include "lci/net/ofi/coalescing.h"
#include "lci/net/ofi/core.h"
#include "lci/net/ofi/credits.h"
#include "lci/net/ofi/packets.h"
#include "lci/net/ofi/wire.h"

namespace lci::net::ofi {

// On whose behalf a packet or an access is taken; progress may take the reserved ones.
enum class claim : uint8_t { post, progress };

// Constant for the life of a device.
struct packet_settings {
  size_t packet_bytes;       // capacity of a packet; equal on all ranks
  size_t largest_message;    // bytes of a record of kind send; equal on all ranks
  size_t coalescing_bytes;   // for coalescing_limit
  size_t inject_bytes;       // largest injected packet; 0: none is injected
  size_t sends_of_progress;  // packets that no post takes
  uint8_t credits_each;      // equal on all ranks
  uint16_t token;            // of this device; a packet with another one is dropped
};

// The way of records to and from the peers, in packets. A record that is sent is copied into a
// packet. The packet leaves at once, or coalesces with further records until it is full or the
// device is polled (coalescing.h). Credits (credits.h) bound the packets in flight. Records of one
// peer arrive in the order of append().
//
// Thread safety: the caller holds the device's lock, except for release().
class packet_path {
 public:
  packet_path(device_core& core, const packet_settings& settings);

  const packet_settings& settings() const { return settings_; }

  // Takes over the packets of core.own, and posts the receives.
  base::Status open();
  // Packets for the rank bear this token, which is that of its device.
  void set_token(int rank, uint16_t token) { peer_of(rank).token = token; }

  // Sending. Each returns false if there is no room now; nothing happened.

  // `context`: the record is a send to another rank, which completes with the packet; null: it is
  // complete.
  bool append(int rank, const outgoing_record& record, claim by, void* context = nullptr);
  // Sends `record`, or no record if it is null, in a packet that costs no credit (credits.h says
  // which may).
  bool send_free(int rank, const outgoing_record* record);

  // Sends what waits for a poll: coalesced records, and credits. Returns whether some is left.
  bool send_pending(int rank);
  // Sends an empty packet, unless one in flight shows that the rank is reachable.
  void probe(int rank);
  // Whether the network has everything that was appended. Sends an empty packet behind injected
  // ones, so that its completion shows that these have left.
  bool drain(int rank);

  // Packets whose completion libfabric has yet to report.
  uint32_t in_flight(int rank) const { return peer_of(rank).in_flight; }
  bool is_coalescing(int rank) const { return peer_of(rank).filling != nullptr; }
  // Whether a packet of the rank has arrived.
  bool has_greeted(int rank) const { return peer_of(rank).greeted; }

  // A put that notifies its target by the write itself costs a credit as a packet does.

  bool has_credit(int rank) const { return peer_of(rank).credit.any(); }
  void spend_credit(int rank) { peer_of(rank).credit.spend(); }
  // Returns a credit to the rank, with a later packet.
  void owe_credit(int rank) {
    peer_of(rank).credit.owe();
    if (peer_of(rank).credit.owes_many()) core_.add_pending(rank);
  }

  // Entries of the completion queue.

  void sent(packet& finished, bool failed = false);
  void receive(packet& arrived, size_t size);
  void receive_failed(packet& failed);

  // Received packets: the reader takes records from the front one, and pops it when all are
  // read. A record that is lent adds a user, for whom release() is called.

  bool has_arrived() const { return !arrived_.empty(); }
  packet& front() const { return *arrived_.front(); }
  void pop_front() {
    packet& read = *arrived_.front();
    arrived_.pop_front();
    drop_user(read);
  }
  // Any thread at any time.
  void release(packet& used);
  // Packets without users, whose receives are to be posted again: has_returned() those that have
  // been released, has_finished() others, among them those that the provider has not taken.
  bool has_returned() const { return !returned_.empty(); }
  bool has_finished() const { return !finished_.empty(); }
  void repost_all();

  // Of a rank that has failed or ended: drops the packet that is being filled, and completes the
  // sends of all packets.
  void forget(int rank);

 private:
  // A cache line per peer: all that a message touches.
  struct alignas(base::cache_line_size) peer {
    packet* filling = nullptr;  // coalesces messages; see coalescing.h
    uint32_t in_flight = 0;
    uint32_t left_at = 0;  // value of device_core::looks when the last packet left
    uint16_t token = 0;    // of the peer's device
    credits credit;
    bool unconfirmed = false;  // an injected packet, which is never reported, left after those
    bool bursts = false;       // the last coalesced packet held more than one message
    bool greeted = false;
  };

  peer& peer_of(int rank) { return peers_[static_cast<size_t>(rank)]; }
  const peer& peer_of(int rank) const { return peers_[static_cast<size_t>(rank)]; }

  packet* take_packet(int rank, claim by);
  bool flush(int rank);
  bool inject_alone(int rank, const outgoing_record& record);
  void send_behind(int rank);
  void complete_awaited(packet& of, bool failed);
  bool send(packet& leaving, bool free);
  template <class Hand>
  bool hand_over(int rank, packet_header* header, bool free, Hand hand);
  int64_t repost(packet& finished);
  void recycle(packet& finished);
  void drop_user(packet& used);

  device_core& core_;
  const packet_settings settings_;
  const coalescing_limit coalescing_;
  base::aligned_vector<peer> peers_;            // by rank
  base::aligned_vector<packet*> free_packets_;  // to send
  fifo<packet*> arrived_;                       // received packets, read from the front
  fifo<packet*> finished_;  // to be recycled: read completely, or not reposted yet
  mpsc_free_list<packet> returned_;
};

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_PACKET_PATH_H_
