// An event of a rank's last moments, as a value, and as eight words of a file.
#ifndef LCI_OBSERVE_EVENT_H_
#define LCI_OBSERVE_EVENT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lci::observe {

// The numbers stand in files: a change needs a new recording_version (recording_file.h).
enum class event_kind : uint8_t {
  none = 0,
  // The network (lci/net/backend.h).
  post = 1,          // the network accepted an operation of this rank; `duration` is of the call
  refused = 2,       // the network answered that the peer has failed
  poll = 3,          // a poll that found something; `detail`: the number of completions
  arrival = 4,       // a message arrived
  notification = 5,  // the end of a peer's put that notifies this rank
  completion = 6,    // a posted operation of this rank ended; `operation` is that of its post
  // The matching engines; `detail`: the number of the engine.
  receive = 7,           // a receive was posted, and waits
  matched_arrival = 8,   // a message that arrived found its receive
  unexpected = 9,        // a message that arrived found no receive, and waits
  matched_receive = 10,  // a receive that was posted found a message that waited
  // The program.
  signal = 11,      // a completion object was signaled; `duration` is of its handler
  collective = 12,  // a collective operation began; see set_name(); `detail`: its number
  // The job.
  peer_lost = 13,  // `peer` has failed
  report = 14,     // the state of the job was asked for (SIGUSR1, a wait that lasts too long)
};
constexpr int event_kinds = 15;

// The form of a message or operation on the wire (lci/runtime/core/wire.h).
enum class wire_form : uint8_t {
  none = 0,
  active_message = 1,    // `detail`: the remote completion object
  tagged = 2,            // `detail`: the matching engine
  ready_to_send = 3,     // `detail`: the sender's ticket, and above it the remote completion object
  ready_to_receive = 4,  // `detail`: the sender's ticket, and above it the receiver's
  reject = 5,            // `detail`: the sender's ticket
  finish = 6,            // `detail`: the receiver's ticket
  rma_completion = 7,    // `detail`: the remote completion object
  rma_event = 8,         // `detail`: the signal, and above it the part
  put = 9,               //
  put_notify = 10,       // `detail`: the immediate data
  put_end = 11,          // the last put of a rendezvous; `detail`: the receiver's ticket
  get = 12,              //
  remote_add = 13,       //
  other = 14,            // `detail`: the immediate data
  taken = 15,            // `detail`: the sender's ticket
};
constexpr int wire_forms = 16;

// "post", "ready to send".
std::string_view name_of(event_kind kind);
std::string_view name_of(wire_form form);

struct event {
  static constexpr uint8_t posted = 1;      // the operation completes later
  static constexpr uint8_t failed = 2;      // the operation failed
  static constexpr uint8_t of_library = 4;  // belongs to a collective operation
  static constexpr uint8_t any_tag = 8;     // a receive that takes messages with any tag
  static constexpr uint8_t all_flags = 15;
  static constexpr int32_t no_peer = -1;  // also of a receive that takes messages of any rank
  static constexpr uint64_t max_size = (uint64_t{1} << 40) - 1;  // bytes; larger ones are capped

  uint64_t time = 0;      // when it began: nanoseconds of CLOCK_MONOTONIC
  uint32_t duration = 0;  // nanoseconds, capped; 0: a moment
  event_kind kind = event_kind::none;
  wire_form form = wire_form::none;
  uint8_t flags = 0;
  // The device: the number of its runtime and of its net context, and its own. Of a collective
  // operation: the matching engine instead of the device.
  uint8_t runtime = 0;
  uint8_t context = 0;
  uint16_t device = 0;
  int32_t peer = no_peer;
  // Of an operation that completes later: equal in its post and its completion, and for no other
  // operation of this rank between these.
  uint32_t operation = 0;
  uint64_t size = 0;  // bytes of the program
  uint64_t tag = 0;
  // Of a post, arrival or notification: how many messages (or notifying puts) of that rank pair
  // have passed the device before. Equal at both ends where messages do not overtake each other.
  uint64_t sequence = 0;
  uint64_t detail = 0;

  friend bool operator==(const event& a, const event& b);
};

// The first 16 characters of the name of a collective operation, in `tag` and `sequence`.
void set_name(event* recorded, std::string_view name);
std::string name_in(const event& recorded);

// An event as it lies in a file. The first word is its number in its thread, from 1.
constexpr size_t event_words = 8;
using event_image = std::array<uint64_t, event_words>;

event_image encode(const event& recorded, uint64_t number);
// Sets *out. Returns what is wrong with the image, or null.
const char* decode(const event_image& image, event* out);

}  // namespace lci::observe

#endif  // LCI_OBSERVE_EVENT_H_
