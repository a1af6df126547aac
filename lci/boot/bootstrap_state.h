// State of the job in the TCP server: ranks, key-value store, collectives and pending requests.
// This class uses no sockets; tcp_server.cc moves the bytes.
#ifndef LCI_BOOT_BOOTSTRAP_STATE_H_
#define LCI_BOOT_BOOTSTRAP_STATE_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lci/boot/rank_state.h"
#include "lci/boot/tcp_wire.h"

namespace lci::boot {

// Thread safety: one thread at a time.
//
// Invariants:
// 1. Frames of a rank are accepted only between its hello() and its leave frame or lost(). The
//    caller ensures that a rank has at most one connection, the one of its last hello.
// 2. Every request is answered exactly once, unless its rank leaves or is lost, or the job aborts
//    (then `aborted` answers all pending requests of the rank).
// 3. A round starts when all ranks have said hello. If a rank leaves before that, the round fails,
//    and no other rank enters a failed round. A rank whose hello does not fit into the round is
//    early for the next round, which begins when no rank is connected.
class bootstrap_state {
 public:
  struct abort_report {
    int rank = -1;  // the rank that called abort(); -1: the launcher
    std::string reason;
  };

  using shared_body = std::shared_ptr<const std::string>;  // shared by receivers: may be large

  class output {
   public:
    // Must not call back into the bootstrap_state.
    virtual void send(int rank, tcp_wire::kind kind, uint32_t request, shared_body body) = 0;
    // The first rank of a round has arrived.
    virtual void waiting() = 0;
    // All ranks have arrived, and get their replies next.
    virtual void starting() = 0;

   protected:
    ~output() = default;
  };

  // `out` must outlive the bootstrap_state. `job_id_prefix` as in tcp_server::options.
  bootstrap_state(int size, std::string job_id_prefix, output* out);

  int size() const { return static_cast<int>(ranks_.size()); }

  // `hello.rank` must be in range. Copies its arguments.
  void hello(uint32_t request, const tcp_wire::hello& hello);
  // Handles any other frame of `rank`. Returns false for an invalid frame: the caller drops the
  // connection.
  bool frame(int rank, tcp_wire::kind what, uint32_t request, std::string_view body);
  // The ranks that have arrived have waited for so long: warns the first one of them. Returns false
  // if none waits any more.
  bool warn_of_missing(std::chrono::seconds waited);
  // The connection of `rank` has ended without a leave frame.
  void lost(int rank);
  // The store, for the launcher: false if the key is there already. Ranks that wait for it get it.
  bool put(std::string_view key, std::string_view value);
  // Null: the key is not there.
  const std::string* look_up(std::string_view key) const;
  // Keeps only the first abort. `rank` -1: the launcher.
  void abort(int rank, std::string_view reason);

  rank_state state(int rank) const { return ranks_[static_cast<size_t>(rank)].state; }
  int count(rank_state state) const;
  // No rank is connected, and none waits for the next round.
  bool idle() const { return connected_ == 0 && early_ == 0; }
  const std::optional<abort_report>& aborted() const { return aborted_; }

 private:
  struct greeting {
    uint32_t request = 0;
    uint32_t local_rank = 0;
    uint32_t local_size = 0;
    std::string node;
  };
  struct member {
    rank_state state = rank_state::absent;
    std::optional<greeting> waiting;  // hello not yet answered
    std::optional<greeting> early;    // hello for the next round
    greeting seen;                    // hello of this round
  };
  struct collective {
    std::vector<std::optional<std::string>> values;  // by rank; empty when done
    int entered = 0;
    bool done = false;
    std::map<int, uint32_t> waiters;  // rank, request
  };
  struct call {  // a pending request
    tcp_wire::kind kind{};
    std::string key;
  };
  using request_key = std::pair<int, uint32_t>;  // rank, request

  void admit(int rank, greeting said);
  void start();
  void next_round_if_empty();
  void departed(int rank, rank_state state);
  bool put(int rank, uint32_t request, std::string_view body);
  bool get(int rank, uint32_t request, std::string_view body);
  bool enter(int rank, tcp_wire::kind what, uint32_t request, std::string_view body);
  bool cancel(int rank, uint32_t request);
  void fail_collectives_without(int rank);
  // The first rank that is lost: from now on `rank`, if none was.
  int first_lost(int rank);
  void complete(tcp_wire::kind kind, collective* which);
  void notify_aborted(int rank);
  void reply(int rank, uint32_t request, tcp_wire::code code, std::string_view payload);
  // The reply `unavailable`.
  void reply_lost(int rank, uint32_t request, int lost, std::string_view text);

  std::vector<int> missing(const collective& which) const;
  std::vector<int> ranks_in(rank_state state) const;

  const std::string job_id_prefix_;
  output* const output_;
  std::optional<abort_report> aborted_;
  std::vector<member> ranks_;
  int connected_ = 0;  // members whose state is connected
  int early_ = 0;      // members with `early`

  // State of this round:
  bool started_ = false;
  bool failed_ = false;
  std::map<std::string, std::string, std::less<>> values_;
  std::map<std::string, std::set<request_key>> wanted_;  // by key: requests waiting in get
  std::map<std::string, collective> collectives_;        // by collective_key()
  std::map<request_key, call> calls_;                    // all pending requests of a started round
};

}  // namespace lci::boot

#endif  // LCI_BOOT_BOOTSTRAP_STATE_H_
