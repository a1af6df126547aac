#include "lci/boot/tcp_channel.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "lci/base/error_text.h"
#include "lci/base/strings.h"
#include "lci/base/system.h"
#include "lci/boot/messages.h"
#include "lci/io/bytes.h"
#include "lci/io/handshake.h"

namespace lci::boot {
namespace {

constexpr size_t read_size = size_t{64} << 10;

base::Status lost(std::string_view detail) {
  return base::UnavailableError(
      base::StrCat("the connection to the job's bootstrap server was lost (", detail, ")"));
}

}  // namespace

tcp_channel::tcp_channel(io::unique_fd socket, uint64_t max_reply_size)
    : socket_(std::move(socket)), max_reply_size_(max_reply_size), owner_pid_(::getpid()) {}

tcp_channel::~tcp_channel() {
  // In a forked child that inherited this object, the connection belongs to the parent.
  if (owner_pid_ != ::getpid()) return;
  if (!end_.ok() && !base::IsAborted(end_)) return;
  // TCP resets a connection that is closed with unread data, and the server would report the rank
  // as lost.
  char unread[4096];
  while (::recv(socket_.get(), unread, sizeof unread, 0) > 0) {
  }
  (void)send(tcp_wire::kind::leave, 0, "", io::steady::now() + default_grace);
}

base::Status tcp_channel::authenticate(const std::string& token, io::steady::time_point deadline) {
  handshake_.emplace(tcp_wire::protocol, token);
  if (handshake_->challenge().empty()) return base::no_random_bytes();
  // No time to cancel: what has not answered yet may be no server.
  const base::StatusOr<reply> proof = call(tcp_wire::kind::challenge, handshake_->challenge(),
                                           deadline, std::chrono::milliseconds(0));
  if (!proof.ok()) return proof.status();
  if (!handshake_->check_proof(proof->payload)) {
    return base::PermissionDeniedError(io::server_has_wrong_token);
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  is_authenticated_ = true;
  return base::OkStatus();
}

base::StatusOr<tcp_channel::reply> tcp_channel::say_hello(std::string_view body,
                                                          io::steady::time_point deadline) {
  const std::string hello = handshake_->hello(body);
  handshake_.reset();
  return call(tcp_wire::kind::hello, hello, deadline);
}

base::StatusOr<tcp_channel::reply> tcp_channel::call(tcp_wire::kind kind, std::string_view body,
                                                     io::steady::time_point deadline,
                                                     std::chrono::milliseconds grace) {
  open_call mine;
  // A call with a zero timeout must still be sent.
  base::Status sent =
      send_request(kind, body, &mine, std::max(deadline, io::steady::now() + default_grace));
  std::unique_lock<std::mutex> lock(mutex_);
  if (sent.ok() && !wait(&lock, &mine.done, deadline)) {
    lock.unlock();
    sent = send(tcp_wire::kind::cancel, mine.request, "", io::steady::now() + default_grace);
    lock.lock();
    if (sent.ok() && !wait(&lock, &mine.done, io::steady::now() + grace)) {
      sent = base::DeadlineExceededError("the job's bootstrap server does not answer");
    }
  }
  pending_.erase(mine.request);
  if (mine.done) return std::move(mine.answer);
  if (!end_.ok()) return end_;
  return sent;
}

base::Status tcp_channel::begin(tcp_wire::kind kind, std::string_view body, open_call* begun) {
  const base::Status sent = send_request(kind, body, begun, io::steady::now() + default_grace);
  if (!sent.ok()) {
    const std::lock_guard<std::mutex> lock(mutex_);
    pending_.erase(begun->request);
  }
  return sent;
}

base::StatusOr<tcp_channel::reply> tcp_channel::finish(open_call* begun, int wake,
                                                       io::steady::time_point deadline) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (!wait(&lock, &begun->done, deadline, wake)) {
    return base::DeadlineExceededError("the reply is not there yet");
  }
  pending_.erase(begun->request);
  if (begun->done) return std::move(begun->answer);
  return end_;
}

void tcp_channel::give_up(open_call* begun) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    pending_.erase(begun->request);
  }
  (void)send(tcp_wire::kind::cancel, begun->request, "", io::steady::now() + default_grace);
}

// Numbers the request, expects its reply, and sends it.
base::Status tcp_channel::send_request(tcp_wire::kind kind, std::string_view body, open_call* call,
                                       io::steady::time_point deadline) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!end_.ok()) return end_;
    do {
      call->request = next_request_++;
    } while (call->request == 0 || pending_.count(call->request) != 0);
    pending_[call->request] = call;
  }
  return send(kind, call->request, body, deadline);
}

void tcp_channel::abort(std::string_view reason) {
  reason = reason.substr(0, tcp_wire::max_reason_size);
  if (!send(tcp_wire::kind::abort, 0, reason, io::steady::now() + default_grace).ok()) return;
  const bool never = false;
  std::unique_lock<std::mutex> lock(mutex_);
  wait(&lock, &never, io::steady::now() + default_grace);
}

base::Status tcp_channel::send(tcp_wire::kind kind, uint32_t request, std::string_view body,
                               io::steady::time_point deadline) {
  std::string frame;
  std::lock_guard<std::mutex> sending(send_mutex_);
  if (!preamble_sent_) io::append_preamble(&frame, tcp_wire::protocol);
  preamble_sent_ = true;
  io::append_frame(&frame, static_cast<uint8_t>(kind), request, body);
  std::string_view rest = frame;
  // The server always reads, so that this wait for room ends even if no thread of this rank reads
  // replies meanwhile.
  while (!rest.empty()) {
    const ssize_t sent = ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      rest.remove_prefix(static_cast<size_t>(sent));
      continue;
    }
    if (errno == EINTR) continue;
    const int error = errno;
    if (error == EAGAIN) {
      pollfd room = {socket_.get(), POLLOUT, 0};
      const int ready = ::poll(&room, 1, io::poll_milliseconds(deadline));
      if (ready != 0) continue;
    }
    // Part of a frame may have been sent: nothing more can be sent. Data that the server sent
    // before (such as an abort, after which it exits) still counts.
    std::lock_guard<std::mutex> lock(mutex_);
    while (!reading_ && end_.ok()) {
      std::string received(read_size, '\0');
      const ssize_t got = ::recv(socket_.get(), &received[0], received.size(), 0);
      if (got <= 0) break;
      take(std::string_view(received).substr(0, static_cast<size_t>(got)));
    }
    end(lost(error == EAGAIN ? "it takes no data" : base::error_text(error)));
    return end_;
  }
  return base::OkStatus();
}

bool tcp_channel::wait(std::unique_lock<std::mutex>* lock, const bool* what,
                       io::steady::time_point deadline, int wake) {
  // A thread that another reads for can't see its descriptor.
  constexpr std::chrono::milliseconds look_at_wake(100);
  while (!*what && end_.ok()) {
    if (io::steady::now() >= deadline) return false;
    if (wake != no_wake && sleep_until_readable(wake, std::chrono::milliseconds(0))) return false;
    if (reading_) {
      changed_.wait_until(
          *lock, wake == no_wake ? deadline : std::min(deadline, io::steady::now() + look_at_wake));
      continue;
    }
    reading_ = true;
    lock->unlock();
    std::string received;
    const bool open = read_some(deadline, wake, &received);
    lock->lock();
    reading_ = false;
    take(received);
    if (!open) end(lost("it closed the connection"));
    // The other threads check for their replies; one of them takes over reading if this thread is
    // done.
    changed_.notify_all();
  }
  return true;
}

// Returns false if the connection will deliver nothing more.
bool tcp_channel::read_some(io::steady::time_point deadline, int wake, std::string* received) {
  pollfd readable[] = {{socket_.get(), POLLIN, 0}, {wake, POLLIN, 0}};
  if (::poll(readable, 2, io::poll_milliseconds(deadline)) <= 0 || readable[0].revents == 0) {
    return true;  // the caller checks again
  }
  received->resize(read_size);
  const ssize_t got = ::recv(socket_.get(), &(*received)[0], received->size(), 0);
  const bool later = got < 0 && (errno == EAGAIN || errno == EINTR);
  received->resize(got > 0 ? static_cast<size_t>(got) : 0);
  return got > 0 || later;
}

// Requires mutex_.
void tcp_channel::take(std::string_view received) {
  in_.add(received);
  while (end_.ok()) {
    io::frame_header header;
    std::string_view body;
    switch (
        in_.next(is_authenticated_ ? max_reply_size_ : io::max_handshake_body, &header, &body)) {
      case io::frame_reader::item::none:
        return;
      case io::frame_reader::item::preamble:
        break;
      case io::frame_reader::item::frame:
        if (!take_frame(header, body)) end(lost("it sent a malformed frame"));
        break;
      case io::frame_reader::item::invalid:
        end(is_authenticated_ ? lost(in_.error().message())
                              : base::FailedPreconditionError(in_.error().message()));
        break;
    }
  }
}

// Returns false if the frame is malformed. Requires mutex_.
bool tcp_channel::take_frame(const io::frame_header& header, std::string_view body) {
  io::body_reader reader(body);
  reply answer;
  switch (static_cast<tcp_wire::kind>(header.kind)) {
    case tcp_wire::kind::aborted: {
      const uint32_t word = reader.u32();
      const int rank = word == tcp_wire::no_rank ? -1 : static_cast<int>(word);
      if (lost_rank_ < 0) lost_rank_ = rank;
      end(aborted_by(rank, reader.rest()));
      return true;
    }
    case tcp_wire::kind::refused:
      end(base::PermissionDeniedError(
          base::StrCat("the job's server refuses this process: ", body)));
      return true;
    case tcp_wire::kind::missing:
      warn_of_slow_start(body);
      return true;
    case tcp_wire::kind::proof:
      break;
    case tcp_wire::kind::reply:
      answer.code = static_cast<tcp_wire::code>(reader.u8());
      if (answer.code == tcp_wire::code::unavailable) {
        const auto rank = static_cast<int>(reader.u32());
        if (lost_rank_ < 0) lost_rank_ = rank;
      }
      break;
    default:
      return false;
  }
  if (!reader.ok()) return false;
  const auto found = pending_.find(header.request);
  if (found != pending_.end()) {  // otherwise the call has timed out
    answer.payload = std::string(reader.rest());
    found->second->answer = std::move(answer);
    found->second->done = true;
  }
  return true;
}

int tcp_channel::lost_rank() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return lost_rank_;
}

// Keeps the first reason. Requires mutex_.
void tcp_channel::end(base::Status why) {
  if (!end_.ok()) return;
  end_ = std::move(why);
  changed_.notify_all();
}

}  // namespace lci::boot
