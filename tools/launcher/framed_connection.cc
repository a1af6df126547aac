#include "tools/launcher/framed_connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "lci/base/strings.h"

namespace lci::launcher {

framed_connection::framed_connection(event_loop* loop, boot::unique_fd socket, owner* to,
                                     size_t max_body)
    : loop_(loop), socket_(std::move(socket)), owner_(to), max_body_(max_body) {}

framed_connection::~framed_connection() { loop_->forget(watched_); }

void framed_connection::start(speaker first) {
  watched_ = loop_->watch(socket_.get(), POLLIN, [this] { ready(); });
  if (first == speaker::self) send_preamble();
}

void framed_connection::send_preamble() {
  if (std::exchange(preamble_is_sent_, true)) return;
  wire::append_preamble(&out_);
  flush();
}

void framed_connection::set_timeout(std::chrono::milliseconds timeout) {
  const auto set = [this](int level, int option, int value) {
    setsockopt(socket_.get(), level, option, &value, sizeof(value));
  };
  const int ms = static_cast<int>(std::clamp<int64_t>(timeout.count(), 1000, 1 << 30));
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, std::clamp(ms / 3000, 1, 32767));
  set(IPPROTO_TCP, TCP_KEEPINTVL, std::clamp(ms / 6000, 1, 32767));
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  // Also limits the keep-alives.
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, ms);
}

void framed_connection::hand_over(owner* to, size_t max_body) {
  owner_ = to;
  max_body_ = max_body;
}

void framed_connection::flush() {
  size_t written = 0;
  while (written < out_.size()) {
    const ssize_t n =
        ::send(socket_.get(), out_.data() + written, out_.size() - written, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    // receive() notices the end of the connection, after it has read the data that arrived before.
    if (n < 0) break;
    written += static_cast<size_t>(n);
  }
  out_.erase(0, written);
  loop_->change(watched_, static_cast<short>(out_.empty() ? POLLIN : POLLIN | POLLOUT));
}

void framed_connection::ready() {
  const std::shared_ptr<framed_connection> alive = shared_from_this();
  if (!out_.empty()) flush();
  receive();
}

void framed_connection::receive() {
  char block[65536];
  const ssize_t n = ::recv(socket_.get(), block, sizeof(block), 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    end(n == 0 ? "the connection was closed" : strerror(errno));
    return;
  }
  in_.append(block, static_cast<size_t>(n));
  size_t used = 0;
  while (open_ && take_one(&used)) {
  }
  in_.erase(0, used);
  if (open_ && !protocol_error_.empty()) end(protocol_error_);
}

bool framed_connection::take_one(size_t* used) {
  if (!protocol_error_.empty()) return false;
  const std::string_view rest = std::string_view(in_).substr(*used);
  if (!greeted_) {
    if (rest.size() < wire::preamble_size) return false;
    // A peer of another version receives this version, too, so that it can report the error.
    if (base::StartsWith(rest, std::string_view(wire::magic, sizeof(wire::magic)))) {
      send_preamble();
    }
    protocol_error_ = wire::check_preamble(rest.substr(0, wire::preamble_size));
    greeted_ = true;
    *used += wire::preamble_size;
    return protocol_error_.empty();
  }
  wire::kind which{};
  std::string_view body;
  switch (wire::take_frame(rest, max_body_, &which, &body)) {
    case wire::taken::incomplete:
      return false;
    case wire::taken::too_large:
      protocol_error_ = "it sent a frame that is too large";
      return false;
    case wire::taken::frame:
      break;
  }
  *used += wire::header_size + body.size();
  if (!owner_->on_frame(*this, which, body)) {
    protocol_error_ = base::StrCat("it sent a malformed frame of kind ", static_cast<int>(which));
    return false;
  }
  return true;
}

void framed_connection::end(const std::string& why) {
  if (!open_) return;
  close();
  owner_->on_end(*this, why);
}

void framed_connection::close() {
  if (!open_) return;
  flush();
  open_ = false;
  loop_->forget(watched_);
  watched_ = 0;
  // The descriptor stays open until destruction, because callers may still use fd().
  shutdown(socket_.get(), SHUT_RDWR);
}

}  // namespace lci::launcher
