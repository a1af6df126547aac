// Accepts connections and authenticates the processes that connect.
#ifndef LCI_IO_ACCEPTOR_H_
#define LCI_IO_ACCEPTOR_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "lci/io/event_loop.h"
#include "lci/io/framed_connection.h"
#include "lci/io/framing.h"
#include "lci/io/handshake.h"
#include "lci/io/unique_fd.h"

namespace lci::io {

// The server's side of the handshake (handshake.h), for any number of clients.
//
// A peer is unauthenticated until it has proved that it has the token; without a token, until it
// turns out to be a process of this user on this machine. Unauthenticated peers can occupy only a
// bounded amount of memory and a bounded number of descriptors: when there are too many of them,
// the acceptor closes the oldest connection, after a look for a hello in it. A client that was
// closed connects again.
//
// Thread safety: the loop's thread.
class acceptor final {
 public:
  class events {
   public:
    // The peer is authenticated. `hello` is its hello without the code, and `request` the number of
    // that frame. Takes the connection over (hand_over) and returns an empty text, or returns the
    // reason for refusing the peer.
    virtual std::string admit(const std::shared_ptr<framed_connection>& peer, uint32_t request,
                              std::string_view hello) = 0;
    // No peer can be accepted (`error` is an errno): either descriptors are missing and no
    // unauthenticated peer is left to close, or the listener itself fails. Peers wait in the
    // kernel's queue until resume().
    virtual void cannot_accept(int error) = 0;

   protected:
    ~events() = default;
  };

  // `listener` listens and is non-blocking. `token` has any length; empty: none. `max_peers` is the
  // largest number of unauthenticated peers, and exceeds the number of clients that may connect at
  // the same time.
  acceptor(event_loop* loop, events* to, unique_fd listener, const protocol& of, std::string token,
           size_t max_peers);
  ~acceptor();

  // Call when this process has closed descriptors. Accepts again after events::cannot_accept.
  void resume();

 private:
  // An unauthenticated peer.
  struct peer final : framed_connection::owner {
    peer(acceptor* by, std::shared_ptr<framed_connection> to)
        : owner(by), connection(std::move(to)), handshake(by->protocol_, by->token_) {}
    bool on_frame(framed_connection&, const frame_header& header, std::string_view body) override {
      return owner->on_frame(*this, header, body);
    }
    void on_end(framed_connection&, const std::string&) override {
      owner->unauthenticated_.erase(self);
    }

    acceptor* const owner;
    const std::shared_ptr<framed_connection> connection;
    server_handshake handshake;
    std::list<peer>::iterator self;
  };

  void accept_some();
  bool accept_one();
  void close_oldest();
  bool on_frame(peer& from, const frame_header& header, std::string_view body);
  std::string refusal_of(const peer& from, std::string_view hello) const;

  event_loop* const loop_;
  events* const to_;
  const unique_fd listener_;
  const protocol protocol_;
  const std::string token_;
  const size_t max_peers_;
  event_loop::id watched_;
  std::list<peer> unauthenticated_;  // the oldest first
};

}  // namespace lci::io

#endif  // LCI_IO_ACCEPTOR_H_
