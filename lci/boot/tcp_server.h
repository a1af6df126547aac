// The rendezvous of the TCP bootstrap: ranks connect, present the job's token, exchange bytes and
// meet in collectives. It lives in the launcher's event loop or in a helper process (tcp_helper.h),
// which is its whole event loop.
#ifndef LCI_BOOT_TCP_SERVER_H_
#define LCI_BOOT_TCP_SERVER_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lci/base/status.h"
#include "lci/boot/socket.h"

namespace lci::boot {

// Thread safety: one thread at a time. Owns no thread, installs no handler, sleeps never.
//
// Whoever connects is a stranger until its hello is complete and right (magic, version, token,
// size, rank). A stranger can make the server do a bounded amount of work and hold a bounded amount
// of its memory and descriptors; when too many strangers are there, the one that came first
// is shown the door (a rank says hello as soon as it is connected, and comes again if it was thrown
// out). Nothing a stranger sends changes what ranks see.
//
// The program may be started several times in one job (`lcrun -n 2 sh -c './a; ./b'`, or a process
// that finalizes and initializes again): when all ranks have gone, the store is emptied and the
// next round begins, with another job id. A rank that is early for the next round waits for it.
class tcp_server {
 public:
  struct options {
    // Where to listen: "127.0.0.1:0", "[::1]:0", "host:port". With port 0 the kernel chooses one.
    std::string bind_address;
    int size = 0;  // number of ranks of the job, at least 1
    // What a rank must present: at most tcp_wire::max_token_size bytes (LCI_BOOT_TOKEN). If empty,
    // only connections over loopback from processes of this server's user are taken.
    std::string token;
    // What bootstrap::job_id() begins with, [A-Za-z0-9_-]; the first 14 characters are used.
    // If empty, a random one is made.
    std::string job_id;
  };

  enum class rank_state {
    absent,     // has not said hello (in this round)
    connected,  // has, and its connection is there
    finished,   // took its leave (its bootstrap was destroyed)
    lost,       // the connection ended without that
  };

  struct abort_report {
    int rank = -1;  // who called abort(); -1: the launcher
    std::string reason;
  };

  static base::StatusOr<std::unique_ptr<tcp_server>> listen(const options& job);
  // The same with a socket that listens already (see listen_on); `bind_address` is not used.
  static base::StatusOr<std::unique_ptr<tcp_server>> serve(unique_fd listener, const options& job);

  // Closes every connection: ranks that wait get Unavailable.
  virtual ~tcp_server() = default;
  tcp_server(const tcp_server&) = delete;
  tcp_server& operator=(const tcp_server&) = delete;

  // Where it listens, with the real port: the value of LCI_BOOT_ADDR for the ranks.
  virtual const std::string& address() const = 0;

  // Readable (POLLIN) when step() has work. Close-on-exec; stays the same for the server's life.
  virtual int poll_fd() const = 0;

  // Handles what is ready now and returns; never blocks. Returns whether there was something.
  virtual bool step() = 0;

  virtual rank_state state(int rank) const = 0;
  // Number of ranks in a state.
  virtual int count(rank_state state) const = 0;
  // True when no rank is connected and none waits for the next round.
  virtual bool idle() const = 0;

  // The first abort, if any. It stays for the life of the server: later hellos are answered with
  // it.
  virtual std::optional<abort_report> aborted() const = 0;

  // The ranks' store, for the launcher. put() is false if the key is there already; look_up() is
  // null if it is not there, and otherwise valid until the next call of a member that is not const.
  virtual bool put(std::string_view key, std::string_view value) = 0;
  virtual const std::string* look_up(std::string_view key) const = 0;

  // Ends the job's waiting from outside (the launcher saw a rank die): as if `rank` (-1: the
  // launcher) had called abort(reason). The ranks are told by this and later steps.
  virtual void abort(int rank, const std::string& reason) = 0;

 protected:
  tcp_server() = default;
};

}  // namespace lci::boot

#endif  // LCI_BOOT_TCP_SERVER_H_
