#include "tools/launcher/report_server.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

namespace lci::launcher {
namespace {

constexpr size_t max_clients = 64;

bool is_of_this_user(int socket) {
  ucred peer = {};
  socklen_t size = sizeof(peer);
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

}  // namespace

base::StatusOr<std::unique_ptr<report_server>> report_server::make(io::event_loop* loop,
                                                                   report_directory directory,
                                                                   job of) {
  base::StatusOr<io::unique_fd> listener = directory.listen(of.id);
  if (!listener.ok()) return listener.status();
  return std::unique_ptr<report_server>(
      new report_server(loop, std::move(directory), std::move(of), *std::move(listener)));
}

report_server::report_server(io::event_loop* loop, report_directory directory, job of,
                             io::unique_fd listener)
    : loop_(loop),
      directory_(std::move(directory)),
      job_(std::move(of)),
      listener_(std::move(listener)),
      watched_(loop->watch(listener_.get(), POLLIN, [this] { accept_one(); })) {}

report_server::~report_server() {
  directory_.remove(job_.id);
  loop_->forget(watched_);
  loop_->cancel(resume_timer_);
  while (!clients_.empty()) close(clients_.back());
}

void report_server::accept_one() {
  auto one = std::make_shared<client>();
  one->socket.reset(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  const bool is_full = one->socket ? clients_.size() == max_clients
                                   : (errno == EMFILE || errno == ENFILE) && !clients_.empty();
  if (is_full) {
    close(clients_.front());
  } else if (!one->socket && errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) {
    pause_accepting();
  }
  if (!one->socket || !is_of_this_user(one->socket.get())) return;
  clients_.push_back(one);
  one->watched =
      loop_->watch(one->socket.get(), POLLIN, [this, which = std::weak_ptr<client>(one)] {
        if (const auto from = which.lock()) read_request(from);
      });
}

// A listener that fails stays readable, and watching it would only take processor time.
void report_server::pause_accepting() {
  constexpr std::chrono::milliseconds pause{100};
  loop_->change(watched_, 0);
  resume_timer_ = loop_->at(io::steady::now() + pause, [this] {
    resume_timer_ = 0;
    loop_->change(watched_, POLLIN);
  });
}

void report_server::read_request(const std::shared_ptr<client>& from) {
  if (!from->answer.empty()) return write_some(from);
  char request = 0;
  const ssize_t n = recv(from->socket.get(), &request, 1, 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n != 1) return close(from);
  switch (static_cast<report_request>(request)) {
    case report_request::title:
      return answer(from, answer_kind::report, job_.title);
    case report_request::text:
    case report_request::json: {
      // Further bytes have no meaning. The end of the connection shows when the answer is written.
      loop_->change(from->watched, 0);
      const bool is_json = static_cast<report_request>(request) == report_request::json;
      return job_.ask([this, is_json, which = std::weak_ptr<client>(from)](
                          const observe::job_report* report, const std::string& why) {
        const auto to = which.lock();  // null after the destruction of the server, too
        if (to == nullptr) return;
        if (report == nullptr) return answer(to, answer_kind::error, why);
        answer(to, answer_kind::report,
               is_json ? observe::to_json(*report) : observe::to_text(*report));
      });
    }
  }
  close(from);
}

void report_server::answer(const std::shared_ptr<client>& to, answer_kind kind,
                           const std::string& text) {
  to->answer = static_cast<char>(kind) + text;
  write_some(to);
}

void report_server::write_some(const std::shared_ptr<client>& to) {
  const ssize_t n = send(to->socket.get(), to->answer.data(), to->answer.size(), MSG_NOSIGNAL);
  if (n < 0 && errno != EAGAIN && errno != EINTR) return close(to);
  if (n > 0) to->answer.erase(0, static_cast<size_t>(n));
  if (to->answer.empty()) return close(to);
  loop_->change(to->watched, POLLOUT);
}

void report_server::close(const std::shared_ptr<client>& which) {
  const std::shared_ptr<client> closed = which;  // `which` may be the element
  loop_->forget(closed->watched);
  clients_.erase(std::find(clients_.begin(), clients_.end(), closed));
}

}  // namespace lci::launcher
