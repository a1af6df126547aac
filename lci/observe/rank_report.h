// The state of one rank, as it describes itself when a job is asked what it waits for.
#ifndef LCI_OBSERVE_RANK_REPORT_H_
#define LCI_OBSERVE_RANK_REPORT_H_

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "lci/base/status.h"

namespace lci::observe {

// Plain data. `seconds` is always an age, rounded down. `fields` are the members in the order in
// which they are sent (lci/io/record.h), and `names` what JSON calls them.
struct rank_report {
  // The value for any rank or any tag in a receive.
  static constexpr int64_t any_rank = -1;
  // Lists of a report are cut to so many entries of each kind.
  static constexpr size_t most_entries = 64;

  // A thread inside a call of the library that waits.
  struct wait {
    int64_t thread = 0;  // as gettid(2)
    std::string call;    // "barrier", "sync_wait", "a blocking post", ...
    int64_t peer = any_rank;
    uint64_t collective = 0;  // number of the collective operation; 0: none
    uint32_t seconds = 0;
    std::string place;        // the caller, as "program(function+0x12)"; empty: unknown
    bool of_message = false;  // it waits for one message, described by:
    uint64_t tag = 0;
    uint64_t size = 0;  // bytes
    // Of a wait for a synchronizer.
    uint64_t signals = 0;
    uint64_t threshold = 0;        // signals that it waits for; 0: no such wait
    bool no_post_signals = false;  // no pending post of this rank will, nor can another rank
    // Of a wait for other threads of this rank.
    uint64_t threads_came = 0;     // this one, too
    uint64_t threads_needed = 0;   // 0: no such wait
    const void* object = nullptr;  // the synchronizer; not sent

    static constexpr auto fields = std::make_tuple(
        &wait::thread, &wait::call, &wait::peer, &wait::collective, &wait::seconds, &wait::place,
        &wait::of_message, &wait::tag, &wait::size, &wait::signals, &wait::threshold,
        &wait::no_post_signals, &wait::threads_came, &wait::threads_needed);
    static constexpr const char* names[] = {
        "thread",       "call",          "peer", "collective", "seconds",   "place",
        "of_message",   "tag",           "size", "signals",    "threshold", "no_post_signals",
        "threads_came", "threads_needed"};
  };

  // A receive that has found no message, or a message that has found no receive. Those that differ
  // only in their age are one entry.
  struct message {
    enum class kind : uint8_t { receive, arrived, announced };  // announced: a large message
    kind what = kind::receive;
    uint64_t engine = 0;      // number of the matching engine
    uint64_t collective = 0;  // number of the collective operation that it is of; 0: none
    int64_t peer = any_rank;
    bool any_tag = false;
    uint64_t tag = 0;
    uint64_t size = 0;     // bytes of the first
    uint64_t count = 0;    // of such entries
    uint32_t seconds = 0;  // age of the oldest
    std::string policy;    // the matching policy: "rank_tag", ...

    static constexpr auto fields = std::make_tuple(
        &message::what, &message::engine, &message::collective, &message::peer, &message::any_tag,
        &message::tag, &message::size, &message::count, &message::seconds, &message::policy);
    static constexpr const char* names[] = {"kind", "engine", "collective", "peer",    "any_tag",
                                            "tag",  "size",   "count",      "seconds", "policy"};
  };

  // A large message that waits for the peer: an outgoing one for its answer to the announcement, an
  // incoming one, which this rank has answered, for its bytes. (While its bytes leave, an outgoing
  // one waits for the network alone.)
  struct transfer {
    uint64_t device = 0;
    bool outgoing = false;
    int64_t peer = any_rank;
    uint64_t tag = 0;
    uint64_t size = 0;  // bytes
    bool collective = false;

    static constexpr auto fields =
        std::make_tuple(&transfer::device, &transfer::outgoing, &transfer::peer, &transfer::tag,
                        &transfer::size, &transfer::collective);
    static constexpr const char* names[] = {"device", "outgoing", "peer",
                                            "tag",    "size",     "collective"};
  };

  struct device {
    // An age that shows that nobody polls: the clock of ages has seconds, and a busy machine is
    // slow.
    static constexpr uint32_t min_unpolled = 2;
    // Whether messages of peers wait for a poll. Only of a device that nobody polls.
    enum class arrivals : uint8_t { unknown, none, some };

    uint64_t number = 0;            // in the order of allocation
    uint32_t seconds_unpolled = 0;  // since a thread made progress on it, or since its allocation
    uint64_t polls = 0;
    uint64_t backlog = 0;      // operations that the network refused, waiting to be posted again
    uint64_t transfers = 0;    // open rendezvous
    uint64_t packets_out = 0;  // packets that are not in the device's pool
    uint64_t packets = 0;      // of the pool at most
    arrivals messages = arrivals::unknown;
    // Operations of this rank that have begun and are not complete.
    uint64_t sends = 0;  // other than open rendezvous
    uint64_t puts_and_gets = 0;
    uint64_t atomics = 0;

    bool is_unpolled() const { return seconds_unpolled >= min_unpolled; }

    static constexpr auto fields = std::make_tuple(
        &device::number, &device::seconds_unpolled, &device::polls, &device::backlog,
        &device::transfers, &device::packets_out, &device::packets, &device::messages,
        &device::sends, &device::puts_and_gets, &device::atomics);
    static constexpr const char* names[] = {"number",    "seconds_unpolled", "polls",   "backlog",
                                            "transfers", "packets_out",      "packets", "messages",
                                            "sends",     "puts_and_gets",    "atomics"};
  };

  // A thread whose posts the network refuses again and again. Others in between may be accepted.
  struct refusals {
    int64_t thread = 0;  // as gettid(2)
    uint64_t device = 0;
    int64_t peer = any_rank;  // of the last one
    uint64_t size = 0;        // bytes of the last one
    std::string answer;       // to the last one: "retry_nomem", ...
    uint32_t seconds = 0;     // since the first one

    static constexpr auto fields =
        std::make_tuple(&refusals::thread, &refusals::device, &refusals::peer, &refusals::size,
                        &refusals::answer, &refusals::seconds);
    static constexpr const char* names[] = {"thread", "device", "peer",
                                            "size",   "answer", "seconds"};
  };

  // An operation in the backlog of a device.
  struct backlogged {
    uint64_t device = 0;
    std::string operation;  // "send", "put", ...
    int64_t peer = any_rank;
    uint64_t size = 0;     // bytes
    std::string answer;    // of the network, the last time: "retry_nomem", ...
    uint32_t seconds = 0;  // since it was refused first

    static constexpr auto fields =
        std::make_tuple(&backlogged::device, &backlogged::operation, &backlogged::peer,
                        &backlogged::size, &backlogged::answer, &backlogged::seconds);
    static constexpr const char* names[] = {"device", "operation", "peer",
                                            "size",   "answer",    "seconds"};
  };

  struct queue {
    std::string name;
    uint64_t statuses = 0;  // that nobody has popped

    static constexpr auto fields = std::make_tuple(&queue::name, &queue::statuses);
    static constexpr const char* names[] = {"name", "statuses"};
  };

  // The collective operations of a matching engine.
  struct collectives {
    uint64_t engine = 0;
    uint64_t last = 0;      // number of the last one that was started; 0: none
    std::string last_kind;  // its name

    static constexpr auto fields =
        std::make_tuple(&collectives::engine, &collectives::last, &collectives::last_kind);
    static constexpr const char* names[] = {"engine", "last", "last_kind"};
  };

  int64_t rank = 0;
  int64_t size = 0;
  int64_t pid = 0;
  std::string host;
  std::string program;
  std::vector<wait> waits;
  std::vector<message> messages;
  std::vector<transfer> transfers;
  std::vector<device> devices;
  std::vector<queue> queues;
  std::vector<collectives> engines;
  std::vector<int64_t> failed;  // ranks that this one takes for failed
  std::vector<refusals> refused;
  std::vector<backlogged> waiting;  // the first operations of each backlog
  uint64_t left_out = 0;            // entries beyond most_entries

  // Not sent: the completion objects that pending posts will signal or other ranks can name, and
  // whether there are pending operations whose objects are not known.
  std::set<const void*> named_objects;
  bool has_unknown_objects = false;

  static constexpr auto fields = std::make_tuple(
      &rank_report::rank, &rank_report::size, &rank_report::pid, &rank_report::host,
      &rank_report::program, &rank_report::left_out, &rank_report::waits, &rank_report::messages,
      &rank_report::transfers, &rank_report::devices, &rank_report::queues, &rank_report::engines,
      &rank_report::failed, &rank_report::refused, &rank_report::waiting);
  static constexpr const char* names[] = {
      "rank",     "size",   "pid",   "host",        "program", "left_out", "wait",      "message",
      "transfer", "device", "queue", "collectives", "failed",  "refused",  "backlogged"};
};

// The report as bytes, and back. decode() accepts only what encode() of the same release writes,
// and says what is wrong otherwise: the bytes come from another process.
std::string encode(const rank_report& report);
base::StatusOr<rank_report> decode(std::string_view text);

// The report as one JSON object.
std::string to_json(const rank_report& report);

}  // namespace lci::observe

#endif  // LCI_OBSERVE_RANK_REPORT_H_
