#ifndef LCI_NET_OFI_CREDITS_H_
#define LCI_NET_OFI_CREDITS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace lci::net::ofi {

// Credits bound the packets that a rank may have in flight to, or in use by, another rank: each
// rank has `each` credits for a peer, and the peer has posted that many receives for it. A reposted
// receive returns to the sender as a credit, in the header of any packet, or in a packet of its own
// once half of the credits are owed. A packet of its own costs no credit, so two ranks without
// credits can still return each other's.
//
// At most two of these packets (with one credit: one) can be in flight from A to B: each returns at
// least half of B's credits, and at most all of B's credits are outstanding at A. One more receive
// serves both the first packet (which shows that the path works) and the last one (bye): the first
// has been received before any other packet leaves.
constexpr size_t receives_without_credit = 3;

// The receives that a device posts.
constexpr size_t receives_needed(size_t each, size_t peers) {
  return (each + receives_without_credit) * peers;
}

// More credits than packets are ever in flight gain nothing and cost memory.
constexpr size_t most_credits = 64;

// The credits that a device with room for `receives` can give to each peer. At least 1, even if
// that needs more receives.
inline size_t choose_credits(size_t receives, size_t peers) {
  if (peers == 0) return most_credits;
  const size_t share = receives / peers;
  return std::clamp<size_t>(share > receives_without_credit ? share - receives_without_credit : 1,
                            1, most_credits);
}

// The credits between this rank and a peer. Thread safety: that of a plain value.
class credits {
 public:
  void set(uint8_t each) {
    each_ = each;
    left_ = each;
  }

  // A packet that is sent costs one credit.
  bool any() const { return left_ > 0; }
  void spend() { --left_; }
  void refund() { ++left_; }
  // The peer returns `count` credits. Returns false if fewer are outstanding.
  bool earn(uint8_t count) {
    if (count > each_ - left_) return false;
    left_ = static_cast<uint8_t>(left_ + count);
    return true;
  }

  // The receive of a packet that cost a credit is reposted.
  void owe() { ++owed_; }
  // Whether enough credits are owed to return them in a packet of their own.
  bool owes_many() const { return owed_ >= (each_ + 1) / 2; }
  uint8_t pay() {
    const uint8_t paid = owed_;
    owed_ = 0;
    return paid;
  }
  // The packet with `count` credits did not leave.
  void unpay(uint8_t count) { owed_ = static_cast<uint8_t>(owed_ + count); }

 private:
  uint8_t each_ = 0;
  uint8_t left_ = 0;
  uint8_t owed_ = 0;
};

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_CREDITS_H_
