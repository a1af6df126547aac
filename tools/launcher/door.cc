#include "tools/launcher/door.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "lci/boot/token.h"

namespace lci::launcher {

door::door(event_loop* loop, events* to, boot::unique_fd listener, std::string job_id,
           std::string token, size_t max_strangers)
    : loop_(loop),
      to_(to),
      listener_(std::move(listener)),
      job_id_(std::move(job_id)),
      token_(std::move(token)),
      max_strangers_(max_strangers),
      watched_(loop->watch(listener_.get(), POLLIN, [this] { accept_some(); })) {}

door::~door() {
  loop_->forget(watched_);
  for (const std::shared_ptr<link>& stranger : strangers_) stranger->close();
}

void door::accept_some() {
  boot::unique_fd socket(
      ::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket) {
    // No descriptors left: make room, since the newcomer stays in the kernel's queue.
    if ((errno == EMFILE || errno == ENFILE) && !strangers_.empty()) strangers_.pop_front();
    return;
  }
  auto stranger = std::make_shared<link>(loop_, std::move(socket), static_cast<link::owner*>(this),
                                         wire::max_stranger_body);
  strangers_.push_back(stranger);
  if (strangers_.size() > max_strangers_) strangers_.pop_front();
  stranger->start();
  stranger->send(wire::greeting{job_id_});
}

bool door::on_frame(link& from, wire::kind kind, std::string_view body) {
  wire::hello said;
  if (kind != wire::kind::hello || !wire::decode(body, &said)) return false;
  const std::shared_ptr<link> who = let_go(from);
  std::string refusal = boot::same_token(said.token, token_)
                            ? to_->admit(who, said)
                            : "its token is not this job's; check LCI_BOOT_TOKEN";
  if (refusal.empty()) return true;
  who->send(wire::refused{std::move(refusal)});
  who->close();
  return true;
}

void door::on_end(link& from, const std::string&) { let_go(from); }

std::shared_ptr<link> door::let_go(link& who) {
  const auto found = std::find_if(strangers_.begin(), strangers_.end(),
                                  [&](const auto& stranger) { return stranger.get() == &who; });
  std::shared_ptr<link> owned = *found;
  strangers_.erase(found);
  return owned;
}

}  // namespace lci::launcher
