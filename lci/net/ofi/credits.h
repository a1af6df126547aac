#ifndef LCI_NET_OFI_CREDITS_H_
#define LCI_NET_OFI_CREDITS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace lci::net::ofi {

// Receives of a device come from sums, not from hope: every rank may have `each` packets on the way
// to, or in the hands of, another one, which has posted as many receives for it. A receive goes
// back to its sender as a credit, beside the bytes of any packet, or in a packet of its own once
// half of them are owed. Such a packet costs no credit itself, so two ranks that have none left
// still give each other theirs.
//
// How many of those can be on the way from A to B: each carries half of B's credits at least, and B
// has no more than all of them outstanding at A, so two (for one credit: one). Beside them come the
// first packet (which shows that the way is there) and the last one (bye): the first has been
// received before anything else leaves, so one for both.
constexpr size_t receives_without_credit = 3;

// Whole receives that a device posts.
constexpr size_t receives_needed(size_t each, size_t peers) {
  return (each + receives_without_credit) * peers;
}

// More than the packets that are on the way at any time buy nothing; they only take memory.
constexpr size_t most_credits = 64;

// What a device with room for `receives` can give each of its peers. At least 1: then the receives
// must be more.
inline size_t choose_credits(size_t receives, size_t peers) {
  if (peers == 0) return most_credits;
  const size_t share = receives / peers;
  return std::clamp<size_t>(share > receives_without_credit ? share - receives_without_credit : 1,
                            1, most_credits);
}

// Between this rank and another. Thread safety: that of a plain value.
class credits {
 public:
  void set(uint8_t each) {
    each_ = each;
    left_ = each;
  }

  // To send: one packet.
  bool any() const { return left_ > 0; }
  void spend() { --left_; }
  void refund() { ++left_; }
  // The other side gives some back. False if it never had so many.
  bool earn(uint8_t count) {
    if (count > each_ - left_) return false;
    left_ = static_cast<uint8_t>(left_ + count);
    return true;
  }

  // A receive of a packet that had cost one is posted again.
  void owe() { ++owed_; }
  // So many that they need a packet of their own, if there is no other.
  bool owes_many() const { return owed_ >= (each_ + 1) / 2; }
  uint8_t pay() {
    const uint8_t paid = owed_;
    owed_ = 0;
    return paid;
  }
  // The packet did not leave.
  void unpay(uint8_t count) { owed_ = static_cast<uint8_t>(owed_ + count); }

 private:
  uint8_t each_ = 0;
  uint8_t left_ = 0;
  uint8_t owed_ = 0;
};

}  // namespace lci::net::ofi

#endif  // LCI_NET_OFI_CREDITS_H_
