// A rank's end of the connection to the server: requests and replies, for many threads.
#ifndef LCI_BOOT_TCP_CHANNEL_H_
#define LCI_BOOT_TCP_CHANNEL_H_

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "lci/base/status.h"
#include "lci/boot/tcp_wire.h"
#include "lci/io/deadline.h"
#include "lci/io/framing.h"
#include "lci/io/handshake.h"
#include "lci/io/unique_fd.h"

namespace lci::boot {

// Thread safety: any thread may call any member; the destructor only when no call is running. The
// channel has no thread of its own: one of the threads that wait for replies reads the socket and
// hands the others their replies. When its own reply has arrived, another thread takes over
// reading.
class tcp_channel {
 public:
  // Time limit for the server's answer to a cancel or an abort. The server only answers requests,
  // so that the limit matters only on a machine with far more processes than cores, and where the
  // server is stopped.
  static constexpr std::chrono::seconds default_grace{5};

  struct reply {
    tcp_wire::code code = tcp_wire::code::ok;
    std::string payload;
  };

  // A request whose reply may be awaited in parts. Belongs to one thread at a time.
  struct open_call {
    uint32_t request = 0;
    bool done = false;
    reply answer;
  };

  // `socket` is connected and non-blocking. A reply larger than `max_reply_size` ends the
  // connection.
  tcp_channel(io::unique_fd socket, uint64_t max_reply_size);
  // Notifies the server that the rank leaves, unless the connection is lost.
  ~tcp_channel();

  // The first two calls.

  // Each end proves to the other one that it has `token`. PermissionDenied if the server does not
  // have it; other errors as of call().
  base::Status authenticate(const std::string& token, io::steady::time_point deadline);
  // Behind authenticate(): sends the hello `body` and waits for its reply, as call() does.
  // PermissionDenied if the server refuses this rank.
  base::StatusOr<reply> say_hello(std::string_view body, io::steady::time_point deadline);

  // Sends a request and waits for its reply. At the deadline, cancels the request and returns the
  // server's answer to the cancellation: code deadline_exceeded with a reason, or the reply if that
  // was faster. DeadlineExceeded if the server does not answer the cancellation within `grace`
  // either. Aborted and Unavailable as in the contract of bootstrap. FailedPrecondition if the
  // other end speaks another protocol or version.
  base::StatusOr<reply> call(tcp_wire::kind kind, std::string_view body,
                             io::steady::time_point deadline,
                             std::chrono::milliseconds grace = default_grace);

  // Sends a request whose reply finish() awaits. The call is alive until it is done or the channel
  // is destroyed. Errors as of call().
  base::Status begin(tcp_wire::kind kind, std::string_view body, open_call* begun);
  // Waits for the reply. DeadlineExceeded, and the request is still open, if the deadline comes or
  // the descriptor `wake` is readable before; other errors as of call().
  base::StatusOr<reply> finish(open_call* begun, int wake, io::steady::time_point deadline);

  // The reply to an open call is not wanted any more.
  void give_up(open_call* begun);

  // The rank that the server has named as lost, or as the one that ended the job; -1: none so far.
  int lost_rank();

  // Sends an abort and waits, for a bounded time, until the server has received it.
  void abort(std::string_view reason);

 private:
  base::Status send_request(tcp_wire::kind kind, std::string_view body, open_call* call,
                            io::steady::time_point deadline);
  base::Status send(tcp_wire::kind kind, uint32_t request, std::string_view body,
                    io::steady::time_point deadline);
  static constexpr int no_wake = -1;
  // Waits until *what, the end of the job, the deadline, or until there is something to read from
  // `wake`; returns false only for the last two.
  bool wait(std::unique_lock<std::mutex>* lock, const bool* what, io::steady::time_point deadline,
            int wake = no_wake);
  bool read_some(io::steady::time_point deadline, int wake, std::string* received);
  void take(std::string_view received);
  bool take_frame(const io::frame_header& header, std::string_view body);
  void end(base::Status why);

  const io::unique_fd socket_;
  const uint64_t max_reply_size_;
  const int64_t owner_pid_;

  std::mutex send_mutex_;  // held while a frame is written; taken before mutex_, never after it
  bool preamble_sent_ = false;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool reading_ = false;                           // a thread is in read_some()
  bool is_authenticated_ = false;                  // the server has the token
  std::optional<io::client_handshake> handshake_;  // between authenticate() and say_hello()
  uint32_t next_request_ = 1;
  std::map<uint32_t, open_call*> pending_;
  int lost_rank_ = -1;
  io::frame_reader in_{tcp_wire::protocol};
  base::Status
      end_;  // why there will be no more replies: Aborted, Unavailable or FailedPrecondition
};

}  // namespace lci::boot

#endif  // LCI_BOOT_TCP_CHANNEL_H_
