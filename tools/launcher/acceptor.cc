#include "tools/launcher/acceptor.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "lci/boot/token.h"
#include "tools/launcher/authentication.h"

namespace lci::launcher {

acceptor::acceptor(event_loop* loop, events* to, boot::unique_fd listener, std::string token,
                   size_t max_unauthenticated)
    : loop_(loop),
      to_(to),
      listener_(std::move(listener)),
      token_(std::move(token)),
      max_unauthenticated_(max_unauthenticated),
      watched_(loop->watch(listener_.get(), POLLIN, [this] { accept_some(); })) {}

acceptor::~acceptor() {
  loop_->forget(watched_);
  for (const unauthenticated_peer& peer : unauthenticated_) peer.connection->close();
}

void acceptor::accept_some() {
  boot::unique_fd socket(
      ::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket) {
    // Without descriptors, close the oldest connection. The new one stays in the kernel's queue.
    if ((errno == EMFILE || errno == ENFILE) && !unauthenticated_.empty())
      unauthenticated_.pop_front();
    return;
  }
  auto peer = std::make_shared<framed_connection>(loop_, std::move(socket),
                                                  static_cast<framed_connection::owner*>(this),
                                                  wire::max_unauthenticated_body);
  unauthenticated_.push_back({peer, ""});
  if (unauthenticated_.size() > max_unauthenticated_) unauthenticated_.pop_front();
  peer->start(framed_connection::speaker::peer);
}

bool acceptor::on_frame(framed_connection& from, wire::kind kind, std::string_view body) {
  const auto found = find(from);
  if (kind == wire::kind::challenge) {
    wire::challenge challenge;
    if (!found->nonces.empty() || !wire::decode(body, &challenge) ||
        challenge.nonce.size() != nonce_size) {
      return false;
    }
    const std::string nonce = make_nonce();
    if (nonce.empty()) return false;
    found->nonces = challenge.nonce + nonce;
    from.send(wire::proof{nonce, proof_of_lcrun(token_, found->nonces)});
    return true;
  }
  wire::hello hello;
  if (kind != wire::kind::hello || found->nonces.empty() || !wire::decode(body, &hello)) {
    return false;
  }
  const unauthenticated_peer peer = std::move(*found);
  unauthenticated_.erase(found);
  std::string refusal = boot::same_token(hello.code, proof_of_helper(token_, peer.nonces))
                            ? to_->admit(peer.connection, hello)
                            : "its token is not this job's; check LCI_BOOT_TOKEN";
  if (refusal.empty()) return true;
  peer.connection->send(wire::refused{std::move(refusal)});
  peer.connection->close();
  return true;
}

void acceptor::on_end(framed_connection& from, const std::string&) {
  unauthenticated_.erase(find(from));
}

std::deque<acceptor::unauthenticated_peer>::iterator acceptor::find(
    const framed_connection& which) {
  return std::find_if(unauthenticated_.begin(), unauthenticated_.end(),
                      [&](const auto& one) { return one.connection.get() == &which; });
}

}  // namespace lci::launcher
