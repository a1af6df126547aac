// Accepts the connections of helpers and authenticates them.
#ifndef LCI_TOOLS_LAUNCHER_ACCEPTOR_H_
#define LCI_TOOLS_LAUNCHER_ACCEPTOR_H_

#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "lci/boot/socket.h"
#include "tools/launcher/event_loop.h"
#include "tools/launcher/framed_connection.h"
#include "tools/launcher/wire.h"

namespace lci::launcher {

// A peer is unauthenticated until it has sent the job's token. Unauthenticated peers can occupy
// only a bounded amount of memory and a bounded number of descriptors: when there are too many of
// them, the acceptor closes the oldest connection.
//
// Thread safety: the loop's thread.
class acceptor final : private framed_connection::owner {
 public:
  class events {
   public:
    // The peer has the right token. Takes the connection over (hand_over) and returns an empty
    // text, or returns the reason for refusing the peer.
    virtual std::string admit(const std::shared_ptr<framed_connection>& peer,
                              const wire::hello& hello) = 0;

   protected:
    ~events() = default;
  };

  // `listener` listens and is non-blocking. `max_unauthenticated` exceeds the number of helpers
  // that may connect at the same time.
  acceptor(event_loop* loop, events* to, boot::unique_fd listener, std::string token,
           size_t max_unauthenticated);
  ~acceptor();

 private:
  struct unauthenticated_peer {
    std::shared_ptr<framed_connection> connection;
    std::string nonces;  // of the helper and of lcrun, joined; empty before the challenge
  };

  void accept_some();
  bool on_frame(framed_connection& from, wire::kind kind, std::string_view body) override;
  void on_end(framed_connection& from, const std::string& why) override;
  std::deque<unauthenticated_peer>::iterator find(const framed_connection& which);

  event_loop* const loop_;
  events* const to_;
  const boot::unique_fd listener_;
  const std::string token_;
  const size_t max_unauthenticated_;
  event_loop::id watched_;
  std::deque<unauthenticated_peer> unauthenticated_;  // the oldest first
};

}  // namespace lci::launcher

#endif  // LCI_TOOLS_LAUNCHER_ACCEPTOR_H_
