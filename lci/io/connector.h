// Connects to the server of a job, and authenticates both sides.
#ifndef LCI_IO_CONNECTOR_H_
#define LCI_IO_CONNECTOR_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lci/base/status.h"
#include "lci/io/event_loop.h"
#include "lci/io/framed_connection.h"
#include "lci/io/framing.h"
#include "lci/io/handshake.h"
#include "lci/io/unique_fd.h"

namespace lci::io {

// The client's side of the handshake (handshake.h), in an event loop. Tries all addresses in
// parallel, because some may be unreachable or belong to another machine. The first connection to a
// server that has the token wins.
//
// Thread safety: the loop's thread.
class connector final : private framed_connection::owner {
 public:
  // Receives an open connection, which it takes over (hand_over) and on which the hello has been
  // sent; or the error of one of the addresses: PermissionDenied if the server there does not have
  // the token, else Unavailable. Called once, by the loop. The connector outlives the call.
  using done = std::function<void(base::StatusOr<std::shared_ptr<framed_connection>>)>;

  // `addresses` have the form of parse_address(). `hello` has at most max_hello_size bytes.
  connector(event_loop* loop, const protocol& of, const std::vector<std::string>& addresses,
            std::string token, std::string hello, done then);
  ~connector();

 private:
  struct attempt {
    attempt(const protocol& of, const std::string& token) : handshake(of, token) {}
    std::string address;
    unique_fd socket;            // while connecting
    event_loop::id watched = 0;  // while connecting
    std::shared_ptr<framed_connection> connection;
    client_handshake handshake;
  };

  void begin(const std::string& address);
  void connected(attempt* which);
  void failed(attempt* which, const base::Status& why);
  void keep_error(const std::string& address, const base::Status& why);
  void give_up_if_none_is_left();
  bool on_frame(framed_connection& from, const frame_header& header,
                std::string_view body) override;
  void on_end(framed_connection& from, const std::string& why) override;
  attempt* attempt_of(const framed_connection& who);

  event_loop* const loop_;
  const protocol protocol_;
  const std::string token_;
  const std::string hello_;
  const done then_;
  std::vector<std::unique_ptr<attempt>> attempts_;
  base::Status why_;  // of the last address that failed; a wrong token comes first
  bool is_reported_ = false;
  event_loop::id soon_ = 0;
};

}  // namespace lci::io

#endif  // LCI_IO_CONNECTOR_H_
