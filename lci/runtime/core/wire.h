// Everything that the runtime puts on the wire, on one page.
//
// A message is what net/backend.h calls a send: 32 immediate bits, an optional header, the bytes. A
// put with immediate carries 32 bits as well. Integers have the byte order of the host; the runtime
// compares wire_version, which would read differently in another order, with its peers at start.
//
//   immediate of a send        31  30     29 ......... t    t-1 ....... 0
//     short active message      1  rcomp ...............    tag             no header
//     short tagged message      0  1      tag ..........................    no header: for the
//     default
//                                                                          engine, by rank and tag
//     everything else           0  0      0 ............ 4  message_kind    a header of that kind
//   immediate of a put         31  30  29     p-1 ...................... 0
//     put with remote_comp      1  rcomp ...............    tag
//     put with signal           0  1   signal   part
//     end of a rendezvous       0  0   ticket of the receiver
// where t is the attribute imm_nbits_tag, and p imm_nbits_signal_part. Where a put carries 64 bits,
// `part` is in the upper 32 and p is 0. Where it carries 8 or 16, they are a signal's number, its
// part is 0, and everything else goes by message, as does what the bits can't hold. (UNR paper,
// Table I: support levels 3, 1 and 0. At level 4 the sender adds to the signal's counter itself.)
#ifndef LCI_RUNTIME_CORE_WIRE_H_
#define LCI_RUNTIME_CORE_WIRE_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "lci/api/types.hpp"
#include "lci/net/op.h"

namespace lci::rt {

constexpr uint64_t wire_version = 0x4c43490000000006;  // "LCI", then the number

// Immediate data.

constexpr net_imm_data_t short_bit = net_imm_data_t{1} << 31;
constexpr int ticket_bits = 30;

// The split of the 31 bits below short_bit between rcomp and tag.
class imm_layout {
 public:
  explicit imm_layout(int tag_bits = 16, int rcomp_bits = 15)
      : tag_bits_(tag_bits),
        rcomp_bits_(rcomp_bits),
        max_tag_((uint32_t{1} << tag_bits) - 1),
        max_rcomp_((uint32_t{1} << rcomp_bits) - 1) {}

  int tag_bits() const { return tag_bits_; }
  int rcomp_bits() const { return rcomp_bits_; }
  uint64_t max_tag() const { return max_tag_; }
  uint64_t max_rcomp() const { return max_rcomp_; }
  // False for rcomp 0, which names nothing.
  bool fits(tag_t tag, rcomp_t rcomp) const {
    return tag <= max_tag_ && static_cast<uint32_t>(rcomp - 1) < max_rcomp_;
  }
  net_imm_data_t encode(tag_t tag, rcomp_t rcomp) const {
    return short_bit | (rcomp << tag_bits_) | static_cast<net_imm_data_t>(tag);
  }
  tag_t tag(net_imm_data_t imm) const { return imm & max_tag_; }
  rcomp_t rcomp(net_imm_data_t imm) const { return (imm >> tag_bits_) & max_rcomp_; }

 private:
  int tag_bits_;
  int rcomp_bits_;
  uint32_t max_tag_;
  uint32_t max_rcomp_;
};

inline bool is_short(net_imm_data_t imm) { return (imm & short_bit) != 0; }

constexpr net_imm_data_t short_tagged_bit = net_imm_data_t{1} << 30;
constexpr uint64_t max_short_tag = short_tagged_bit - 1;

inline bool is_short_tagged(net_imm_data_t imm) {
  return (imm & (short_bit | short_tagged_bit)) == short_tagged_bit;
}
inline net_imm_data_t encode_short_tagged(tag_t tag) {
  return short_tagged_bit | static_cast<net_imm_data_t>(tag);
}
inline tag_t short_tag(net_imm_data_t imm) { return imm & max_short_tag; }

// Signals.

// A put, or a part of one, that counts for a signal of the target.
struct signal_event {
  uint32_t signal = 0;  // its number there; 0: none
  // 0: all of a message. Of a message of k parts, over as many devices, k is that of one of them,
  // and 1 that of the other ones.
  uint32_t part = 0;
};

// The number that an event adds to the counter of its signal, whose lower `event_bits` bits count
// the events that are missing, and one more finds too many. Above these are the parts that are
// missing, plus those not announced: the sum over a message is -1 in any order. (UNR paper, section
// IV-B.) Modulo 2^64: the malformed parts of a message may exceed 64 bits.
constexpr int64_t addend_of(uint32_t part, int event_bits) {
  const auto of_parts = [event_bits](uint64_t n) { return n << (event_bits + 1); };
  if (part == 0) return -1;
  return static_cast<int64_t>(part == 1 ? of_parts(~uint64_t{0}) : of_parts(part - 1) - 1);
}

// The encoding of the target's signal in the immediate data of puts, as far as the network allows.
class signal_layout {
 public:
  signal_layout() = default;
  // `network_bits`: see net::device_limits; 0: none. `level`: of UNR, 0 to 4, which allows so many.
  signal_layout(int network_bits, int level, int part_bits);

  // Returns whether the immediate data can hold the event; otherwise it is sent in a message.
  bool fits(const signal_event& event) const {
    return event.signal <= max_signal_ && event.part <= max_part_;
  }
  uint32_t max_signal() const { return max_signal_; }
  uint32_t max_part() const { return max_part_; }
  net_imm_data_t encode(const signal_event& event) const {
    if (narrow_) return event.signal;
    return signal_bit | event.signal << part_bits_ | (wide_ ? 0 : event.part);
  }
  net_imm_data_t encode_high(const signal_event& event) const { return wide_ ? event.part : 0; }
  bool is_event(net_imm_data_t imm) const {
    return narrow_ || (imm & (short_bit | signal_bit)) == signal_bit;
  }
  // For immediate data for which is_event() is true.
  signal_event decode(net_imm_data_t imm, net_imm_data_t high) const {
    if (narrow_) return {imm, 0};
    const net_imm_data_t number = imm & (signal_bit - 1);
    if (wide_) return {number, high};
    return {number >> part_bits_, number & ((uint32_t{1} << part_bits_) - 1)};
  }

 private:
  static constexpr int number_bits = 30;
  static constexpr net_imm_data_t signal_bit = net_imm_data_t{1} << number_bits;

  bool narrow_ = false;  // by the network, not by the level: so both sides agree
  bool wide_ = false;
  int part_bits_ = 0;
  uint32_t max_signal_ = 0;
  uint32_t max_part_ = 0;
};

inline signal_layout::signal_layout(int network_bits, int level, int part_bits)
    : narrow_(network_bits < 32), wide_(network_bits == 64), part_bits_(wide_ ? 0 : part_bits) {
  if (network_bits == 0 || level == 0) return;
  const auto most = [](int bits) {
    return static_cast<uint32_t>((uint64_t{1} << bits) - 1);  // 0 to 32
  };
  if (narrow_ || level == 1) {
    max_signal_ = most(std::min({network_bits, 16, number_bits - part_bits_}));
    return;
  }
  max_signal_ = most(number_bits - part_bits_);
  max_part_ = most(wide_ && level >= 3 ? 32 : wide_ ? std::min(part_bits, 32) : part_bits_);
}

// Matching engines.

// How ranks name them: in the order of allocation, from these on.
constexpr uint16_t collective_engine = 0;
constexpr uint16_t default_engine = 1;
// 2: addresses for plans; see runtime_impl_t::address_engine

// Headers.

enum class message_kind : net_imm_data_t {
  am = 1,      // am_header, then the bytes: an active message whose tag or rcomp is not short
  tagged = 2,  // tagged_header, then the bytes: to be matched with a receive
  rts = 3,     // rts_header: ready to send. The bytes are too many to come by themselves
  rtr = 4,     // rtr_header: ready to receive, answers rts; the sender now puts the bytes
  reject = 5,  // reject_header: can't receive, answers rts
  fin = 6,     // fin_header: the bytes of a rendezvous are in place, where no put says so itself;
               // or will never be
  remote_completion = 7,  // a put or get with remote_comp is complete
  event = 8,              // signal_event: a put or get with a signal, or a part of one, is complete
  atomic = 9,             // atomic_header, then atomic_operands: to be carried out by the target
  atomic_reply = 10,      // atomic_reply_header: answers atomic
  rts_open = 11,          // rts_open_header: as rts, but the receiver gets the bytes itself
  taken = 12,             // taken_header: it has got them, answers rts_open
};

struct am_header {
  tag_t tag;
  rcomp_t rcomp;
  uint32_t zero;
};

// By what a message is matched, besides its sender.
struct match_header {
  tag_t tag;
  uint16_t engine;
  uint8_t policy;      // matching_policy_t
  uint8_t collective;  // 1: of a collective
  uint32_t zero;
};
using tagged_header = match_header;

struct rts_header {
  match_header match;
  uint64_t size;           // bytes of the message
  rcomp_t rcomp;           // 0: to be matched
  uint32_t sender_ticket;  // comes back in rtr or reject
};

// No larger than a header of rts: such messages have less than 4 GiB, and are no collective's.
struct rts_open_header {
  tag_t tag;
  uint16_t engine;
  uint8_t policy;
  uint8_t zero;
  uint32_t size;
  uint64_t address;  // of the bytes, in the sender's memory
  rcomp_t rcomp;
  uint32_t sender_ticket;

  rts_header announced() const { return {{tag, engine, policy, 0, 0}, size, rcomp, sender_ticket}; }
};

struct taken_header {
  uint32_t sender_ticket;
};

struct rtr_header {
  net::remote_region region;  // where the bytes go,
  uint64_t offset;            // from this byte of it on
  uint32_t sender_ticket;
  uint32_t receiver_ticket;  // goes into the immediate of the last put, or into fin
};

struct reject_header {
  uint32_t sender_ticket;
};

struct fin_header {
  uint32_t receiver_ticket;
  uint32_t failed;  // 1: the sender could not put all of the bytes
};

struct remote_completion_header {
  tag_t tag;
  rcomp_t rcomp;
  uint32_t zero;
};

struct atomic_header {
  uint64_t address;  // of the integer, at the target
  uint64_t key;      // of the registration that it is in (net::remote_region)
  uint32_t ticket;   // comes back in atomic_reply
  uint8_t op;        // atomic_op_t
  uint8_t size;      // bytes of the integer
  uint16_t zero;
};

struct atomic_operands {
  uint64_t value;
  uint64_t compare;
};

enum class atomic_result : uint32_t {
  done,
  not_open,   // no registration of this key has these bytes
  malformed,  // a request that no rank of this version sends
};

struct atomic_reply_header {
  uint64_t former;  // the integer's value before
  uint32_t ticket;
  atomic_result result;
};

static_assert(sizeof(am_header) == 16 && sizeof(tagged_header) == 16 && sizeof(rts_header) == 32);
static_assert(sizeof(rtr_header) == 32 && sizeof(reject_header) == 4);
static_assert(sizeof(fin_header) == 8 && sizeof(remote_completion_header) == 16 &&
              sizeof(signal_event) == 8);
static_assert(sizeof(atomic_header) == 24 && sizeof(atomic_reply_header) == 16);
static_assert(sizeof(atomic_header) + sizeof(atomic_operands) <= 64,
              "it is injected, and no network need inject more");
static_assert(sizeof(rts_header) <= net::max_header_size);
static_assert(sizeof(rts_open_header) == 32 && sizeof(rts_open_header) <= net::max_header_size);

constexpr net_imm_data_t encode(message_kind kind) { return static_cast<net_imm_data_t>(kind); }

// Reads a header from the front of a received message; false if the message is too short for it.
template <class Header>
bool decode(const void* bytes, size_t size, Header* header) {
  static_assert(std::is_trivially_copyable<Header>::value, "headers travel as bytes");
  if (size < sizeof(Header)) return false;
  std::memcpy(header, bytes, sizeof(Header));
  return true;
}

// The functions of several lambdas, by the type of the argument.
template <class... Lambdas>
struct overloaded : Lambdas... {
  using Lambdas::operator()...;
};
template <class... Lambdas>
overloaded(Lambdas...) -> overloaded<Lambdas...>;

// Calls visit(header) with the header of a message of that immediate data, which has the type that
// message_kind names. False, without a call: there is no such kind, or the message is too short.
template <class Visit>
bool visit_header(net_imm_data_t imm, const void* bytes, size_t size, const Visit& visit) {
  const auto with = [&](auto header) {
    if (!decode(bytes, size, &header)) return false;
    visit(header);
    return true;
  };
  switch (static_cast<message_kind>(imm)) {
    case message_kind::am:
      return with(am_header{});
    case message_kind::tagged:
      return with(tagged_header{});
    case message_kind::rts:
      return with(rts_header{});
    case message_kind::rtr:
      return with(rtr_header{});
    case message_kind::reject:
      return with(reject_header{});
    case message_kind::fin:
      return with(fin_header{});
    case message_kind::remote_completion:
      return with(remote_completion_header{});
    case message_kind::event:
      return with(signal_event{});
    case message_kind::atomic:
      return with(atomic_header{});
    case message_kind::atomic_reply:
      return with(atomic_reply_header{});
    case message_kind::rts_open:
      return with(rts_open_header{});
    case message_kind::taken:
      return with(taken_header{});
  }
  return false;
}

}  // namespace lci::rt

#endif  // LCI_RUNTIME_CORE_WIRE_H_
