#include "lci/boot/tcp_server.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lci/base/error_text.h"
#include "lci/base/strings.h"
#include "lci/boot/job_id.h"
#include "lci/boot/tcp_wire.h"
#include "lci/io/handshake.h"

namespace lci::boot {
namespace {

using tcp_wire::code;
using tcp_wire::kind;

// Limit on connections that have not said hello, against a flood. A rank is counted only between
// accept and its hello, which follows immediately.
constexpr size_t max_unauthenticated = 128;
// Limits on what one step takes from one socket, so that no peer starves the others.
constexpr size_t read_size = size_t{64} << 10;
constexpr int accepts_per_step = 64;
constexpr int events_per_step = 64;

class server final : public tcp_server, private bootstrap_state::output {
 public:
  server(io::unique_fd listener, io::unique_fd poll, std::string address, const options& job)
      : listener_(std::move(listener)),
        poll_(std::move(poll)),
        address_(std::move(address)),
        token_(job.token),
        job_(job.size, job.job_id, this),
        connection_of_rank_(static_cast<size_t>(job.size), nullptr),
        read_buffer_(read_size) {
    watch_listener(true);
  }

  const std::string& address() const override { return address_; }
  int poll_fd() const override { return poll_.get(); }
  rank_state state(int rank) const override { return job_.state(rank); }
  int count(rank_state state) const override { return job_.count(state); }
  bool idle() const override { return job_.idle(); }
  std::optional<abort_report> aborted() const override { return job_.aborted(); }

  bool step() override {
    std::array<epoll_event, events_per_step> events;
    const int ready = ::epoll_wait(poll_.get(), events.data(), events_per_step, 0);
    if (ready <= 0) return false;
    bool newcomers = false;
    for (int i = 0; i < ready; ++i) {
      const epoll_event& event = events[static_cast<size_t>(i)];
      if (event.data.u64 == listener_id) {
        newcomers = true;
        continue;
      }
      // An earlier event of this step may have ended the connection.
      const auto found = connections_.find(event.data.u64);
      if (found == connections_.end()) continue;
      connection& c = *found->second;
      if ((event.events & EPOLLOUT) != 0) flush(&c);
      if ((event.events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) receive(&c);
    }
    // Last, so that pending hellos are read before new connections displace unauthenticated ones.
    if (newcomers) accept_some();
    drop_broken();
    take_leaves();
    return true;
  }

  bool put(std::string_view key, std::string_view value) override {
    const bool is_new = job_.put(key, value);
    drop_broken();
    return is_new;
  }
  const std::string* look_up(std::string_view key) const override { return job_.look_up(key); }

  void abort(int rank, const std::string& reason) override {
    job_.abort(rank, reason.substr(0, tcp_wire::max_reason_size));
    drop_broken();
  }

 private:
  struct chunk {
    std::string header;
    bootstrap_state::shared_body body;  // may be null
  };

  struct connection {
    uint64_t id = 0;
    io::unique_fd fd;
    int rank = -1;         // -1: unauthenticated
    bool greeted = false;  // the preamble was valid
    bool broken = false;   // to be dropped before step() returns
    bool closing = false;  // drop the connection when everything is written
    bool leaving = false;  // has sent a leave frame, in this step
    std::string in;
    std::deque<chunk> out;
    size_t written = 0;  // of out.front()
    bool awaits_room = false;
  };

  static constexpr uint64_t listener_id = 0;

  void watch_listener(bool on) {
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.u64 = listener_id;
    ::epoll_ctl(poll_.get(), on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, listener_.get(), &event);
    listening_ = on;
  }

  void accept_some() {
    for (int i = 0; i < accepts_per_step; ++i) {
      io::unique_fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!fd) {
        if (errno == ECONNABORTED || errno == EINTR) continue;
        const int error = errno;
        if (error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM) {
          // Make room, or leave the other connections in the kernel's queue until a descriptor is
          // free: polling the listener meanwhile would only waste processor time.
          if (unauthenticated_.empty()) {
            watch_listener(false);
            report_no_room(error);
            return;
          }
          drop(connections_.at(*unauthenticated_.begin()).get());
          continue;
        }
        return;
      }
      io::tune_connection(fd.get());
      auto owned = std::make_unique<connection>();
      connection* c = owned.get();
      c->id = next_id_++;
      c->fd = std::move(fd);
      epoll_event event = {};
      event.events = EPOLLIN;
      event.data.u64 = c->id;
      if (::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, c->fd.get(), &event) != 0) continue;
      connections_.emplace(c->id, std::move(owned));
      unauthenticated_.insert(c->id);
      receive(c);  // its hello has often arrived already
      if (c->broken) drop(c);
      if (unauthenticated_.size() > max_unauthenticated)
        drop(connections_.at(*unauthenticated_.begin()).get());
    }
  }

  // Ranks that can't connect would wait until their timeouts, and then give a wrong reason.
  void report_no_room(int error) {
    const int absent = job_.count(rank_state::absent);
    if (absent == 0 || job_.aborted()) return;
    job_.abort(-1, base::StrCat("the server of the job can't accept the connections of ", absent,
                                " of the ", job_.size(), " ranks: ", base::error_text(error)));
  }

  // Reads once, and handles the frames that are complete.
  void receive(connection* c) {
    if (c->leaving) return;
    if (c->broken || c->closing) {
      c->broken = true;  // readable while closing: the peer has closed, or ignored the refusal
      mark(c);
      return;
    }
    const ssize_t got = ::recv(c->fd.get(), read_buffer_.data(), read_buffer_.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
      c->broken = true;
      mark(c);
      return;
    }
    c->in.append(read_buffer_.data(), static_cast<size_t>(got));
    size_t used = 0;
    while (!c->broken && !c->closing && !c->leaving && take_one(c, &used)) {
    }
    c->in.erase(0, used);
    if (c->broken) mark(c);
  }

  // Handles the preamble or frame that begins at c->in[*used]. Returns false if it is not complete.
  bool take_one(connection* c, size_t* used) {
    const std::string_view in = std::string_view(c->in).substr(*used);
    if (!c->greeted) {
      if (in.size() < tcp_wire::preamble_size) return false;
      unsigned version = 0;
      const tcp_wire::preamble_check check = tcp_wire::check_preamble(in.data(), &version);
      if (check == tcp_wire::preamble_check::not_ours) {
        c->broken = true;
        return false;
      }
      c->greeted = true;
      *used += tcp_wire::preamble_size;
      chunk hello_back;
      tcp_wire::append_preamble(&hello_back.header);
      c->out.push_back(std::move(hello_back));
      if (check == tcp_wire::preamble_check::other_version) {
        refuse(c, 0,
               base::StrCat("it speaks version ", version, " of the bootstrap's wire, the job ",
                            tcp_wire::version, "; start all ranks and lcrun from one release"));
      }
      return true;
    }
    if (in.size() < tcp_wire::header_size) return false;
    tcp_wire::header header;
    const size_t limit = c->rank < 0 ? tcp_wire::max_hello_size : tcp_wire::max_body_size;
    if (!tcp_wire::decode_header(in.data(), &header) || header.body_size > limit) {
      c->broken = true;
      return false;
    }
    const size_t size = static_cast<size_t>(header.body_size);
    if (in.size() - tcp_wire::header_size < size) return false;
    const std::string_view body = in.substr(tcp_wire::header_size, size);
    *used += tcp_wire::header_size + size;
    if (c->rank < 0) {
      take_hello(c, header, body);
    } else if (header.kind == kind::leave && body.empty()) {
      c->leaving = true;
      leaving_.push_back(c->id);
    } else if (!job_.frame(c->rank, header, body)) {
      c->broken = true;
    }
    return true;
  }

  void take_hello(connection* c, const tcp_wire::header& header, std::string_view body) {
    tcp_wire::hello hello;
    if (header.kind != kind::hello || !tcp_wire::decode_hello(body, &hello) ||
        hello.token.size() > tcp_wire::max_token_size ||
        hello.node.size() > tcp_wire::max_node_size) {
      c->broken = true;
      return;
    }
    if (!io::same_code(hello.token, token_)) {
      refuse(c, header.request,
             "its token is not this job's; check LCI_BOOT_TOKEN and LCI_BOOT_ADDR");
      return;
    }
    if (token_.empty() && io::peer_user(c->fd.get()) != ::geteuid()) {
      refuse(c, header.request,
             "without a token only processes of the user who started the job are accepted; set "
             "LCI_BOOT_TOKEN to the same secret in all ranks");
      return;
    }
    if (hello.size != static_cast<uint32_t>(job_.size()) || hello.rank >= hello.size) {
      refuse(c, header.request,
             base::StrCat("it is rank ", hello.rank, " of ", hello.size, ", but the job has ",
                          job_.size(), " ranks"));
      return;
    }
    connection*& current = connection_of_rank_[hello.rank];
    // The rank may just have left and reconnected: its leave frame may still be unread in the old
    // socket.
    if (current != nullptr) receive(current);
    if (current != nullptr && (current->broken || current->leaving)) forget_rank(current);
    if (current != nullptr) {
      refuse(c, header.request,
             base::StrCat("another process is rank ", hello.rank,
                          " already; give every process a rank of its own"));
      return;
    }
    unauthenticated_.erase(c->id);
    current = c;
    c->rank = static_cast<int>(hello.rank);
    job_.hello(header.request, hello);
    flush(c);
  }

  // Sends the reason, then ends the connection.
  void refuse(connection* c, uint32_t request, std::string_view why) {
    std::string body(1, static_cast<char>(code::refused));
    body.append(why.data(), why.size());
    enqueue(c, kind::reply, request, std::make_shared<const std::string>(std::move(body)));
    c->closing = true;
    flush(c);
  }

  // Override of bootstrap_state::output.
  void send(int rank, kind what, uint32_t request, bootstrap_state::shared_body body) override {
    connection* c = connection_of_rank_[static_cast<size_t>(rank)];
    if (c == nullptr || c->broken) return;
    enqueue(c, what, request, std::move(body));
    flush(c);
  }

  void enqueue(connection* c, kind what, uint32_t request, bootstrap_state::shared_body body) {
    chunk next;
    tcp_wire::append_header(&next.header, {body->size(), what, request});
    next.body = std::move(body);
    c->out.push_back(std::move(next));
  }

  // Writes as much as the socket takes. Never calls into bootstrap_state: a connection that fails
  // is marked, and its rank is reported lost later.
  void flush(connection* c) {
    while (!c->broken && !c->out.empty()) {
      const chunk& front = c->out.front();
      const std::string_view pieces[2] = {
          front.header, front.body ? std::string_view(*front.body) : std::string_view()};
      iovec vector[2];
      size_t count = 0, skip = c->written, total = 0;
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
      const ssize_t sent = ::sendmsg(c->fd.get(), &message, MSG_NOSIGNAL);
      if (sent < 0) {
        if (errno == EINTR) continue;
        if (errno != EAGAIN) {
          c->broken = true;
          mark(c);
          return;
        }
        await_room(c, true);
        return;
      }
      c->written += static_cast<size_t>(sent);
      if (c->written < total) continue;
      c->out.pop_front();
      c->written = 0;
    }
    await_room(c, false);
    if (c->closing && !c->broken) {
      c->broken = true;
      mark(c);
    }
  }

  void await_room(connection* c, bool on) {
    if (c->awaits_room == on) return;
    epoll_event event = {};
    event.events = EPOLLIN;
    if (on) event.events |= EPOLLOUT;
    event.data.u64 = c->id;
    ::epoll_ctl(poll_.get(), EPOLL_CTL_MOD, c->fd.get(), &event);
    c->awaits_room = on;
  }

  void mark(connection* c) { broken_.push_back(c->id); }

  // Losing one rank may break the connection of another.
  void drop_broken() {
    while (!broken_.empty()) {
      const uint64_t id = broken_.back();
      broken_.pop_back();
      const auto found = connections_.find(id);
      if (found != connections_.end()) drop(found->second.get());
    }
  }

  // After the connections that ended without a leave frame: a rank that leaves because another one
  // died comes second.
  void take_leaves() {
    for (const uint64_t id : std::exchange(leaving_, {})) {
      const auto found = connections_.find(id);
      if (found != connections_.end()) drop(found->second.get());
    }
    drop_broken();
  }

  void forget_rank(connection* c) {
    if (c->rank < 0) return;
    const int rank = std::exchange(c->rank, -1);
    connection_of_rank_[static_cast<size_t>(rank)] = nullptr;
    if (c->leaving) {
      job_.frame(rank, {0, kind::leave, 0}, "");
    } else {
      job_.lost(rank);
    }
  }

  void drop(connection* c) {
    c->broken = true;
    forget_rank(c);
    unauthenticated_.erase(c->id);
    connections_.erase(c->id);
    if (!listening_) watch_listener(true);
  }

  const io::unique_fd listener_;
  const io::unique_fd poll_;
  const std::string address_;
  const std::string token_;
  bootstrap_state job_;
  bool listening_ = false;
  uint64_t next_id_ = listener_id + 1;
  std::unordered_map<uint64_t, std::unique_ptr<connection>> connections_;
  std::vector<connection*> connection_of_rank_;
  std::set<uint64_t> unauthenticated_;  // oldest first
  std::vector<uint64_t> broken_;
  std::vector<uint64_t> leaving_;  // sent a leave frame in this step
  std::vector<char> read_buffer_;
};

}  // namespace

base::StatusOr<std::unique_ptr<tcp_server>> tcp_server::listen(const options& job) {
  base::StatusOr<io::unique_fd> listener = io::listen_on(job.bind_address);
  if (!listener.ok()) return listener.status();
  return serve(*std::move(listener), job);
}

base::StatusOr<std::unique_ptr<tcp_server>> tcp_server::serve(io::unique_fd listener,
                                                              const options& job) {
  if (job.size < 1) {
    return base::InvalidArgumentError(
        base::StrCat("a job of ", job.size, " ranks; at least 1 is needed"));
  }
  if (job.token.size() > tcp_wire::max_token_size) {
    return base::InvalidArgumentError(base::StrCat("the token has ", job.token.size(),
                                                   " bytes; at most ", tcp_wire::max_token_size,
                                                   " are accepted"));
  }
  if (!is_job_id_text(job.job_id)) {
    return base::InvalidArgumentError(
        base::StrCat("job id \"", job.job_id, "\": only letters, digits, _ and - are accepted"));
  }
  base::StatusOr<std::string> address = io::local_address(listener.get());
  if (!address.ok()) return address.status();
  if (job.token.empty() && !io::is_loopback(listener.get())) {
    return base::InvalidArgumentError(
        base::StrCat("a server at ", *address,
                     " can be reached from other machines and needs a token: set LCI_BOOT_TOKEN to "
                     "the same secret (such as 32 random hexadecimal digits) in all ranks"));
  }
  io::unique_fd poll(::epoll_create1(EPOLL_CLOEXEC));
  if (!poll)
    return base::ResourceExhaustedError(base::StrCat("epoll_create1: ", base::error_text(errno)));
  return std::make_unique<server>(std::move(listener), std::move(poll), *std::move(address), job);
}

}  // namespace lci::boot
