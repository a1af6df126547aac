#include "tools/launcher/acceptor.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "lci/boot/token.h"

namespace lci::launcher {

acceptor::acceptor(event_loop* loop, events* to, boot::unique_fd listener, std::string job_id,
                   std::string token, size_t max_unauthenticated)
    : loop_(loop),
      to_(to),
      listener_(std::move(listener)),
      job_id_(std::move(job_id)),
      token_(std::move(token)),
      max_unauthenticated_(max_unauthenticated),
      watched_(loop->watch(listener_.get(), POLLIN, [this] { accept_some(); })) {}

acceptor::~acceptor() {
  loop_->forget(watched_);
  for (const std::shared_ptr<framed_connection>& peer : unauthenticated_) peer->close();
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
  unauthenticated_.push_back(peer);
  if (unauthenticated_.size() > max_unauthenticated_) unauthenticated_.pop_front();
  peer->start();
  peer->send(wire::greeting{job_id_});
}

bool acceptor::on_frame(framed_connection& from, wire::kind kind, std::string_view body) {
  wire::hello hello;
  if (kind != wire::kind::hello || !wire::decode(body, &hello)) return false;
  const std::shared_ptr<framed_connection> peer = let_go(from);
  std::string refusal = boot::same_token(hello.token, token_)
                            ? to_->admit(peer, hello)
                            : "its token is not this job's; check LCI_BOOT_TOKEN";
  if (refusal.empty()) return true;
  peer->send(wire::refused{std::move(refusal)});
  peer->close();
  return true;
}

void acceptor::on_end(framed_connection& from, const std::string&) { let_go(from); }

std::shared_ptr<framed_connection> acceptor::let_go(framed_connection& peer) {
  const auto found = std::find_if(unauthenticated_.begin(), unauthenticated_.end(),
                                  [&](const auto& one) { return one.get() == &peer; });
  std::shared_ptr<framed_connection> owned = *found;
  unauthenticated_.erase(found);
  return owned;
}

}  // namespace lci::launcher
