// Server of the TCP bootstrap: ranks connect, prove that they have the job's token, exchange bytes
// and enter collectives. It runs in the launcher's event loop, or in a helper process
// (tcp_helper.h) that does nothing else.
#ifndef LCI_BOOT_TCP_SERVER_H_
#define LCI_BOOT_TCP_SERVER_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lci/base/status.h"
#include "lci/boot/bootstrap_state.h"
#include "lci/boot/messages.h"
#include "lci/boot/rank_state.h"
#include "lci/io/unique_fd.h"

namespace lci::boot {

// Thread safety: one thread at a time. Owns no thread, installs no signal handler, never sleeps.
//
// A peer is unauthenticated until its hello is complete and correct (magic, version, proof of the
// token, size, rank); see lci/io/acceptor.h for what it can make the server do until then. A rank
// says hello as soon as it is connected, and reconnects if its connection was closed. Nothing that
// an unauthenticated peer sends changes what ranks see.
//
// The program may be started several times in one job (`lcrun -n 2 sh -c './a; ./b'`, or a process
// that finalizes and initializes again): when all ranks have gone, the store is emptied and the
// next round begins, with another job id. A rank that is early for the next round waits for its
// start.
class tcp_server {
 public:
  struct options {
    // Listening address: "127.0.0.1:0", "[::1]:0", "host:port". With port 0, the kernel chooses
    // one.
    std::string bind_address;
    int size = 0;  // number of ranks of the job, at least 1
    // Secret that a rank must have: at most io::max_token_size bytes (LCI_BOOT_TOKEN). If
    // empty, only loopback connections from processes of this server's user are accepted.
    std::string token;
    // Prefix of bootstrap::job_id(), [A-Za-z0-9_-]; the first 14 characters are used. If empty, a
    // random id is made.
    std::string job_id;
    // Called by step() at the start of each round: all ranks have arrived, and none has its reply
    // yet. May be empty.
    std::function<void()> on_start;
    // How long ranks wait for the others until the first of them is warned, then twice as long, and
    // so on.
    std::chrono::milliseconds patience = start_patience;
  };

  using rank_state = boot::rank_state;
  using abort_report = bootstrap_state::abort_report;

  static base::StatusOr<std::unique_ptr<tcp_server>> listen(const options& job);
  // As listen(), with a socket that listens already (see io::listen_on); `bind_address` is not
  // used.
  static base::StatusOr<std::unique_ptr<tcp_server>> serve(io::unique_fd listener,
                                                           const options& job);

  // Closes every connection; waiting ranks get Unavailable.
  virtual ~tcp_server() = default;
  tcp_server(const tcp_server&) = delete;
  tcp_server& operator=(const tcp_server&) = delete;

  // Listening address with the actual port: the value of LCI_BOOT_ADDR for the ranks.
  virtual const std::string& address() const = 0;

  // Readable (POLLIN) when step() has work. Close-on-exec; stays the same for the server's life.
  virtual int poll_fd() const = 0;

  // Handles what is ready now and returns; never blocks. Returns whether there was an event.
  virtual bool step() = 0;

  virtual rank_state state(int rank) const = 0;
  // Number of ranks in a state.
  virtual int count(rank_state state) const = 0;
  // True when no rank is connected and none waits for the next round.
  virtual bool idle() const = 0;

  // The first abort, if any. It is kept for the life of the server and is the answer to later
  // hellos.
  virtual std::optional<abort_report> aborted() const = 0;

  // The ranks' store, for the launcher. put() is false if the key is there already; look_up() is
  // null if it is not there, and otherwise valid until the next call of a member that is not const.
  virtual bool put(std::string_view key, std::string_view value) = 0;
  virtual const std::string* look_up(std::string_view key) const = 0;

  // Aborts the job from outside (the launcher saw a rank die), as if `rank` (-1: the launcher) had
  // called abort(reason). This call and later steps notify the ranks.
  virtual void abort(int rank, const std::string& reason) = 0;

 protected:
  tcp_server() = default;
};

}  // namespace lci::boot

#endif  // LCI_BOOT_TCP_SERVER_H_
