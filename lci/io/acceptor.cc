#include "lci/io/acceptor.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <iterator>
#include <utility>

#include "lci/io/socket.h"

namespace lci::io {
namespace {

// So that a flood of connections does not keep the loop from other descriptors.
constexpr int accepts_per_call = 64;

// Whether accept(2) has failed because of the one connection, which it has taken from the queue.
bool is_of_connection(int error) {
  switch (error) {
    case ECONNABORTED:
    case EINTR:  // it has taken none, and is to be called again
    case ENETDOWN:
    case EPROTO:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case EOPNOTSUPP:
    case ENETUNREACH:
      return true;
  }
  return false;
}

bool is_of_resources(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace

acceptor::acceptor(event_loop* loop, events* to, unique_fd listener, const protocol& of,
                   std::string token, size_t max_peers)
    : loop_(loop),
      to_(to),
      listener_(std::move(listener)),
      protocol_(of),
      token_(std::move(token)),
      max_peers_(max_peers),
      watched_(loop->watch(listener_.get(), POLLIN, [this] { accept_some(); })) {}

acceptor::~acceptor() {
  loop_->forget(watched_);
  for (const peer& each : unauthenticated_) each.connection->close();
}

void acceptor::resume() { loop_->change(watched_, POLLIN); }

void acceptor::accept_some() {
  for (int i = 0; i < accepts_per_call && accept_one(); ++i) {
  }
}

// Returns false if no connection is left to accept.
bool acceptor::accept_one() {
  unique_fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket) {
    const int error = errno;
    if (error == EAGAIN || error == EWOULDBLOCK) return false;
    if (is_of_connection(error)) return true;
    if (is_of_resources(error) && !unauthenticated_.empty()) {
      close_oldest();
      return true;
    }
    // The listener stays readable, and watching it would only take processor time.
    loop_->change(watched_, 0);
    to_->cannot_accept(error);
    return false;
  }
  tune_connection(socket.get());
  auto connection = std::make_shared<framed_connection>(loop_, std::move(socket), protocol_,
                                                        nullptr, max_handshake_body);
  peer& added = unauthenticated_.emplace_back(this, connection);
  added.self = std::prev(unauthenticated_.end());
  connection->hand_over(&added, max_handshake_body);
  connection->start(framed_connection::speaker::peer);
  connection->receive_now();  // the challenge has often arrived already
  if (unauthenticated_.size() > max_peers_) close_oldest();
  return true;
}

void acceptor::close_oldest() {
  const std::shared_ptr<framed_connection> oldest = unauthenticated_.front().connection;
  oldest->receive_now();
  // It may be authenticated now, or have ended.
  if (unauthenticated_.empty() || unauthenticated_.front().connection != oldest) return;
  oldest->close();
  unauthenticated_.pop_front();
}

bool acceptor::on_frame(peer& from, const frame_header& header, std::string_view body) {
  if (header.kind == handshake_kind::challenge) {
    std::string proof = from.handshake.answer(body);
    if (proof.empty()) return false;
    from.connection->send(handshake_kind::proof, header.request, std::move(proof));
    return true;
  }
  if (header.kind != handshake_kind::hello || !from.handshake.is_hello(body)) return false;
  const std::shared_ptr<framed_connection> client = from.connection;
  std::string refusal = refusal_of(from, body);
  unauthenticated_.erase(from.self);
  if (refusal.empty()) refusal = to_->admit(client, header.request, body.substr(code_size));
  if (refusal.empty()) return true;
  client->send(handshake_kind::refused, header.request, std::move(refusal));
  client->close();
  return true;
}

// Empty: the peer is authenticated.
std::string acceptor::refusal_of(const peer& from, std::string_view hello) const {
  if (!from.handshake.check_hello(hello)) return std::string(client_has_wrong_token);
  if (token_.empty() && peer_user(from.connection->fd()) != ::geteuid()) {
    return "without a token only processes of the user who started the job are accepted; set "
           "LCI_BOOT_TOKEN to the same secret in all ranks";
  }
  return "";
}

}  // namespace lci::io
