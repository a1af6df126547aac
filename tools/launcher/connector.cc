#include "tools/launcher/connector.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "lci/base/strings.h"
#include "lci/boot/token.h"
#include "tools/launcher/authentication.h"

namespace lci::launcher {

connector::connector(event_loop* loop, const std::vector<std::string>& addresses, std::string token,
                     bool any_job, done then)
    : loop_(loop), token_(std::move(token)), any_job_(any_job), then_(std::move(then)) {
  for (const std::string& address : addresses) begin(address);
  soon_ = loop_->at(steady::now(), [this] {
    soon_ = 0;
    give_up_if_none_is_left();
  });
}

connector::~connector() {
  loop_->cancel(soon_);
  for (const auto& one : attempts_) {
    loop_->forget(one->watched);
    if (one->connection != nullptr) one->connection->close();
  }
}

void connector::begin(const std::string& address) {
  const base::StatusOr<boot::host_port> parsed = boot::parse_address(address);
  if (!parsed.ok()) {
    why_ = std::string(parsed.status().message());
    return;
  }
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* list = nullptr;
  if (const int error = getaddrinfo(parsed->host.c_str(), parsed->port.c_str(), &hints, &list);
      error != 0) {
    why_ = base::StrCat(address, ": ", gai_strerror(error));
    return;
  }
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    auto one = std::make_unique<attempt>();
    one->address = address;
    one->socket.reset(socket(entry->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!one->socket || (connect(one->socket.get(), entry->ai_addr, entry->ai_addrlen) != 0 &&
                         errno != EINPROGRESS)) {
      why_ = base::StrCat(address, ": ", std::strerror(errno));
      continue;
    }
    one->watched =
        loop_->watch(one->socket.get(), POLLOUT, [this, which = one.get()] { connected(which); });
    attempts_.push_back(std::move(one));
  }
  freeaddrinfo(list);
}

void connector::connected(attempt* which) {
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(which->socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  loop_->forget(std::exchange(which->watched, 0));
  if (error != 0) {
    failed(which, std::strerror(error));
    return;
  }
  which->connection = std::make_shared<framed_connection>(
      loop_, std::move(which->socket), static_cast<framed_connection::owner*>(this),
      wire::max_unauthenticated_body);
  which->connection->start(framed_connection::speaker::self);
  which->nonce = make_nonce();
  which->connection->send(wire::challenge{which->nonce});
}

void connector::failed(attempt* which, const std::string& why) {
  why_ = base::StrCat(which->address, ": ", why);
  attempts_.erase(std::find_if(attempts_.begin(), attempts_.end(),
                               [&](const auto& one) { return one.get() == which; }));
  give_up_if_none_is_left();
}

void connector::give_up_if_none_is_left() {
  if (!attempts_.empty() || std::exchange(is_reported_, true)) return;
  then_(nullptr, why_);
}

bool connector::on_frame(framed_connection& from, wire::kind kind, std::string_view body) {
  wire::proof proof;
  if (kind != wire::kind::proof || !wire::decode(body, &proof) ||
      proof.nonce.size() != nonce_size) {
    return false;
  }
  attempt* which = attempt_of(from);
  const std::string nonces = which->nonce + proof.nonce;
  if (!any_job_ && !boot::same_token(proof.code, proof_of_lcrun(token_, nonces))) {
    from.close();
    failed(which, "the lcrun of another job");
    return true;
  }
  const std::shared_ptr<framed_connection> found = std::move(which->connection);
  which->connection = nullptr;
  if (!std::exchange(is_reported_, true)) {
    then_(found, proof_of_helper(token_, nonces));
  } else {
    found->close();
  }
  return true;
}

void connector::on_end(framed_connection& from, const std::string& why) {
  failed(attempt_of(from), why);
}

connector::attempt* connector::attempt_of(const framed_connection& who) {
  return std::find_if(attempts_.begin(), attempts_.end(),
                      [&](const auto& one) { return one->connection.get() == &who; })
      ->get();
}

}  // namespace lci::launcher
