#include "lci/io/connector.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "lci/base/error_text.h"
#include "lci/base/strings.h"
#include "lci/io/socket.h"

namespace lci::io {

connector::connector(event_loop* loop, const protocol& of,
                     const std::vector<std::string>& addresses, std::string token,
                     std::string hello, done then)
    : loop_(loop),
      protocol_(of),
      token_(std::move(token)),
      hello_(std::move(hello)),
      then_(std::move(then)),
      why_(base::UnavailableError("there is no address to connect to")) {
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
  base::StatusOr<std::vector<unique_fd>> sockets = begin_connecting(address);
  if (!sockets.ok()) return keep_error(address, sockets.status());
  for (unique_fd& socket : *sockets) {
    auto one = std::make_unique<attempt>(protocol_, token_);
    one->address = address;
    one->socket = std::move(socket);
    one->watched =
        loop_->watch(one->socket.get(), POLLOUT, [this, which = one.get()] { connected(which); });
    attempts_.push_back(std::move(one));
  }
}

void connector::connected(attempt* which) {
  loop_->forget(std::exchange(which->watched, 0));
  if (const base::Status why = connect_result(which->socket.get()); !why.ok()) {
    return failed(which, why);
  }
  which->connection = std::make_shared<framed_connection>(
      loop_, std::move(which->socket), protocol_, static_cast<framed_connection::owner*>(this),
      max_handshake_body);
  which->connection->start(framed_connection::speaker::self);
  which->connection->send(handshake_kind::challenge, 0, which->handshake.challenge());
}

void connector::failed(attempt* which, const base::Status& why) {
  keep_error(which->address, why);
  attempts_.erase(std::find_if(attempts_.begin(), attempts_.end(),
                               [&](const auto& one) { return one.get() == which; }));
  give_up_if_none_is_left();
}

void connector::keep_error(const std::string& address, const base::Status& why) {
  if (base::IsPermissionDenied(why_)) return;
  const auto code = base::IsPermissionDenied(why) ? base::StatusCode::kPermissionDenied
                                                  : base::StatusCode::kUnavailable;
  why_ = base::Status(code, base::StrCat(address, ": ", why.message()));
}

void connector::give_up_if_none_is_left() {
  if (!attempts_.empty() || std::exchange(is_reported_, true)) return;
  then_(why_);
}

bool connector::on_frame(framed_connection& from, const frame_header& header,
                         std::string_view body) {
  if (header.kind != handshake_kind::proof) return false;
  attempt* which = attempt_of(from);
  if (!which->handshake.check_proof(body)) {
    from.close();
    failed(which, base::PermissionDeniedError(server_has_wrong_token));
    return true;
  }
  const std::shared_ptr<framed_connection> found = std::move(which->connection);
  which->connection = nullptr;
  if (std::exchange(is_reported_, true)) {
    found->close();
    return true;
  }
  found->send(handshake_kind::hello, 0, which->handshake.hello(hello_));
  then_(found);
  return true;
}

void connector::on_end(framed_connection& from, const std::string& why) {
  failed(attempt_of(from), base::UnavailableError(why));
}

connector::attempt* connector::attempt_of(const framed_connection& who) {
  return std::find_if(attempts_.begin(), attempts_.end(),
                      [&](const auto& one) { return one->connection.get() == &who; })
      ->get();
}

}  // namespace lci::io
