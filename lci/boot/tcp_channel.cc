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
#include "lci/boot/messages.h"

namespace lci::boot {
namespace {

// Time limit for the server's answer to a cancel or an abort. The server only answers requests, so
// that the limit matters only on a machine with far more processes than cores.
constexpr std::chrono::seconds grace(5);

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
  (void)send({0, tcp_wire::kind::leave, 0}, "", io::steady::now() + grace);
}

base::StatusOr<tcp_channel::reply> tcp_channel::call(tcp_wire::kind kind, std::string_view body,
                                                     io::steady::time_point deadline) {
  open_call mine;
  // A call with a zero timeout must still be sent.
  base::Status sent =
      send_request(kind, body, &mine, std::max(deadline, io::steady::now() + grace));
  std::unique_lock<std::mutex> lock(mutex_);
  if (sent.ok() && !wait(&lock, &mine.done, deadline)) {
    lock.unlock();
    sent = send({0, tcp_wire::kind::cancel, mine.request}, "", io::steady::now() + grace);
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
  const base::Status sent = send_request(kind, body, begun, io::steady::now() + grace);
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
  (void)send({0, tcp_wire::kind::cancel, begun->request}, "", io::steady::now() + grace);
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
  return send({body.size(), kind, call->request}, body, deadline);
}

void tcp_channel::abort(std::string_view reason) {
  reason = reason.substr(0, tcp_wire::max_reason_size);
  if (!send({reason.size(), tcp_wire::kind::abort, 0}, reason, io::steady::now() + grace).ok())
    return;
  const bool never = false;
  std::unique_lock<std::mutex> lock(mutex_);
  wait(&lock, &never, io::steady::now() + grace);
}

base::Status tcp_channel::send(const tcp_wire::header& header, std::string_view body,
                               io::steady::time_point deadline) {
  std::string frame;
  std::lock_guard<std::mutex> sending(send_mutex_);
  if (!preamble_sent_) tcp_wire::append_preamble(&frame);
  preamble_sent_ = true;
  tcp_wire::append_header(&frame, header);
  frame.append(body.data(), body.size());
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
  in_.append(received.data(), received.size());
  if (!greeted_ && in_.size() >= tcp_wire::preamble_size) {
    unsigned version = 0;
    const tcp_wire::preamble_check check = tcp_wire::check_preamble(in_.data(), &version);
    if (check == tcp_wire::preamble_check::not_ours) {
      end(base::FailedPreconditionError(
          "the server at this address is not a bootstrap server of LCI; check LCI_BOOT_ADDR"));
      return;
    }
    if (check == tcp_wire::preamble_check::other_version) {
      end(base::FailedPreconditionError(base::StrCat(
          "the job's server speaks version ", version, " of the bootstrap's wire, this rank ",
          tcp_wire::version, "; start all ranks and lcrun from one release")));
      return;
    }
    greeted_ = true;
    in_.erase(0, tcp_wire::preamble_size);
  }
  if (!greeted_) return;
  while (end_.ok() && take_frame()) {
  }
}

bool tcp_channel::take_frame() {
  if (in_.size() < tcp_wire::header_size) return false;
  tcp_wire::header header;
  if (!tcp_wire::decode_header(in_.data(), &header) || header.body_size > max_reply_size_) {
    end(lost("it sent a malformed frame"));
    return false;
  }
  const size_t size = static_cast<size_t>(header.body_size);
  if (in_.size() - tcp_wire::header_size < size) return false;
  tcp_wire::body_reader body(std::string_view(in_).substr(tcp_wire::header_size, size));
  if (header.kind == tcp_wire::kind::aborted) {
    const uint32_t word = body.u32();
    const int rank = word == tcp_wire::no_rank ? -1 : static_cast<int>(word);
    if (lost_rank_ < 0) lost_rank_ = rank;
    end(aborted_by(rank, body.rest()));
    return false;
  }
  const auto code = static_cast<tcp_wire::code>(body.u8());
  if (code == tcp_wire::code::unavailable) {
    const auto rank = static_cast<int>(body.u32());
    if (lost_rank_ < 0) lost_rank_ = rank;
  }
  if (header.kind != tcp_wire::kind::reply || !body.ok()) {
    end(lost("it sent a malformed frame"));
    return false;
  }
  const auto found = pending_.find(header.request);
  if (found != pending_.end()) {  // otherwise the call has timed out
    found->second->answer = {code, std::string(body.rest())};
    found->second->done = true;
  }
  in_.erase(0, tcp_wire::header_size + size);
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
