#include "lci/io/framed_connection.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <utility>

#include "lci/base/error_text.h"
#include "lci/base/strings.h"

namespace lci::io {

framed_connection::framed_connection(event_loop* loop, unique_fd socket, const protocol& of,
                                     owner* to, uint64_t max_body)
    : loop_(loop),
      socket_(std::move(socket)),
      protocol_(of),
      owner_(to),
      max_body_(max_body),
      in_(of) {}

framed_connection::~framed_connection() { loop_->forget(watched_); }

void framed_connection::start(speaker first) {
  watched_ = loop_->watch(socket_.get(), POLLIN, [this] { ready(); });
  if (first == speaker::self) send_preamble();
}

void framed_connection::send_preamble() {
  if (std::exchange(preamble_is_sent_, true)) return;
  chunk preamble;
  append_preamble(&preamble.header, protocol_);
  out_.push_back(std::move(preamble));
  flush();
}

void framed_connection::hand_over(owner* to, uint64_t max_body) {
  owner_ = to;
  max_body_ = max_body;
}

void framed_connection::send(uint8_t kind, uint32_t request, std::string body) {
  send(kind, request, std::make_shared<const std::string>(std::move(body)));
}

void framed_connection::send(uint8_t kind, uint32_t request, shared_body body) {
  if (!open_) return;
  chunk next;
  append_header(&next.header, {body->size(), kind, request});
  next.body = std::move(body);
  out_.push_back(std::move(next));
  flush();
}

void framed_connection::flush() {
  while (!out_.empty()) {
    const chunk& front = out_.front();
    const std::string_view pieces[2] = {
        front.header, front.body ? std::string_view(*front.body) : std::string_view()};
    iovec vector[2];
    size_t count = 0, skip = written_, total = 0;
    for (std::string_view piece : pieces) {
      total += piece.size();
      const size_t cut = std::min(skip, piece.size());
      skip -= cut;
      piece.remove_prefix(cut);
      vector[count++] = {const_cast<char*>(piece.data()), piece.size()};
    }
    msghdr message = {};
    message.msg_iov = vector;
    message.msg_iovlen = count;
    const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) break;
    if (sent < 0) {
      // receive() notices the end of the connection, after it has read the data that arrived
      // before.
      out_.clear();
      written_ = 0;
      break;
    }
    written_ += static_cast<size_t>(sent);
    if (written_ < total) continue;
    out_.pop_front();
    written_ = 0;
  }
  loop_->change(watched_, static_cast<short>(out_.empty() ? POLLIN : POLLIN | POLLOUT));
}

void framed_connection::ready() {
  const std::shared_ptr<framed_connection> alive = shared_from_this();
  if (!out_.empty()) flush();
  receive();
}

void framed_connection::receive_now() {
  const std::shared_ptr<framed_connection> alive = shared_from_this();
  if (open_ && !is_receiving_) receive();
}

void framed_connection::receive() {
  char block[65536];
  const ssize_t n = ::recv(socket_.get(), block, sizeof(block), 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    end(n == 0 ? "the connection was closed" : base::error_text(errno));
    return;
  }
  in_.add(std::string_view(block, static_cast<size_t>(n)));
  is_receiving_ = true;
  take_items();
  is_receiving_ = false;
}

void framed_connection::take_items() {
  frame_header header;
  std::string_view body;
  while (open_) {
    switch (in_.next(max_body_, &header, &body)) {
      case frame_reader::item::none:
        return;
      case frame_reader::item::preamble:
        // A peer of another version receives this version, too, so that it can report the error.
        send_preamble();
        break;
      case frame_reader::item::frame:
        if (owner_->on_frame(*this, header, body)) break;
        end(base::StrCat("it sent an invalid frame of kind ", unsigned{header.kind}));
        return;
      case frame_reader::item::invalid:
        end(std::string(in_.error().message()));
        return;
    }
  }
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
  ::shutdown(socket_.get(), SHUT_RDWR);
}

}  // namespace lci::io
