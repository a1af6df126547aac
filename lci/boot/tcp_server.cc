#include "lci/boot/tcp_server.h"

#include <poll.h>
#include <sys/timerfd.h>

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "lci/base/error_text.h"
#include "lci/base/strings.h"
#include "lci/boot/job_id.h"
#include "lci/boot/tcp_wire.h"
#include "lci/io/acceptor.h"
#include "lci/io/event_loop.h"
#include "lci/io/framed_connection.h"
#include "lci/io/handshake.h"
#include "lci/io/record.h"
#include "lci/io/socket.h"

namespace lci::boot {
namespace {

using tcp_wire::kind;

// The number of unauthenticated connections that are accepted in addition to one for each rank.
constexpr size_t extra_unauthenticated = 128;

class server final : public tcp_server,
                     private bootstrap_state::output,
                     private io::acceptor::events {
 public:
  server(std::string address, const options& job)
      : address_(std::move(address)),
        on_start_(job.on_start),
        patience_(job.patience),
        job_(job.size, job.job_id, this),
        ranks_(static_cast<size_t>(job.size)) {
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      ranks_[rank].server_ = this;
      ranks_[rank].rank_ = static_cast<int>(rank);
    }
  }

  // Returns the error if the kernel gives no descriptor.
  const base::Status& start(io::unique_fd listener, const std::string& token) {
    acceptor_.emplace(&loop_, static_cast<io::acceptor::events*>(this), std::move(listener),
                      tcp_wire::protocol, token, ranks_.size() + extra_unauthenticated);
    return loop_.status();
  }

  const std::string& address() const override { return address_; }
  int poll_fd() const override { return loop_.fd(); }
  rank_state state(int rank) const override { return job_.state(rank); }
  int count(rank_state state) const override { return job_.count(state); }
  bool idle() const override { return job_.idle(); }
  std::optional<abort_report> aborted() const override { return job_.aborted(); }

  bool step() override {
    const bool any = loop_.step();
    // After the connections that ended without a leave frame: a rank that leaves because another
    // one died comes second.
    for (const int rank : std::exchange(leaving_, {})) ranks_[static_cast<size_t>(rank)].leave();
    return any;
  }

  bool put(std::string_view key, std::string_view value) override { return job_.put(key, value); }
  const std::string* look_up(std::string_view key) const override { return job_.look_up(key); }

  void abort(int rank, const std::string& reason) override {
    job_.abort(rank, reason.substr(0, tcp_wire::max_reason_size));
  }

 private:
  // A rank and its connection.
  class member final : public io::framed_connection::owner {
   public:
    void connected(const std::shared_ptr<io::framed_connection>& by) {
      connection_ = by;
      connection_->hand_over(this, tcp_wire::max_body_size);
    }

    // Whether the rank is connected, after it has been looked at: it may just have left, with its
    // leave frame still unread.
    bool is_connected() {
      if (connection_ != nullptr) connection_->receive_now();
      if (is_leaving_) leave();
      return connection_ != nullptr;
    }

    void send(kind what, uint32_t request, bootstrap_state::shared_body body) {
      if (connection_ == nullptr) return;
      connection_->send(static_cast<uint8_t>(what), request, std::move(body));
    }

    // Does nothing if the rank is not leaving (any more).
    void leave() {
      if (!is_leaving_) return;
      connection_->close();
      gone();
    }

   private:
    friend class server;

    bool on_frame(io::framed_connection&, const io::frame_header& header,
                  std::string_view body) override {
      if (is_leaving_) return true;  // it says no more
      const kind what = static_cast<kind>(header.kind);
      if (what == kind::leave && body.empty()) {
        is_leaving_ = true;
        server_->leaving_.push_back(rank_);
        return true;
      }
      return server_->job_.frame(rank_, what, header.request, body);
    }

    void on_end(io::framed_connection&, const std::string&) override { gone(); }

    void gone() {
      connection_ = nullptr;
      if (std::exchange(is_leaving_, false)) {
        server_->job_.frame(rank_, kind::leave, 0, "");
      } else {
        server_->job_.lost(rank_);
      }
      server_->acceptor_->resume();
    }

    server* server_ = nullptr;
    int rank_ = 0;
    std::shared_ptr<io::framed_connection> connection_;  // null: not connected
    bool is_leaving_ = false;                            // has sent a leave frame in this step
  };

  std::string admit(const std::shared_ptr<io::framed_connection>& peer, uint32_t request,
                    std::string_view body) override {
    tcp_wire::hello hello;
    if (!io::decode_record(body, &hello) || hello.node.size() > tcp_wire::max_node_size) {
      return "its hello is malformed";
    }
    if (hello.size != static_cast<uint32_t>(job_.size()) || hello.rank >= hello.size) {
      return base::StrCat("it is rank ", hello.rank, " of ", hello.size, ", but the job has ",
                          job_.size(), " ranks");
    }
    member& rank = ranks_[hello.rank];
    if (rank.is_connected()) {
      return base::StrCat("another process is rank ", hello.rank,
                          " already; give every process a rank of its own");
    }
    rank.connected(peer);
    job_.hello(request, hello);
    return "";
  }

  // Ranks that can't connect would wait until their timeouts, and then give a wrong reason.
  void cannot_accept(int error) override {
    const int absent = job_.count(rank_state::absent);
    if (absent == 0 || job_.aborted()) return;
    job_.abort(-1, base::StrCat("the server of the job can't accept the connections of ", absent,
                                " of the ", job_.size(), " ranks: ", base::error_text(error)));
  }

  // Override of bootstrap_state::output.
  void send(int rank, kind what, uint32_t request, bootstrap_state::shared_body body) override {
    ranks_[static_cast<size_t>(rank)].send(what, request, std::move(body));
  }

  void waiting() override { warn_after(patience_, patience_); }

  void starting() override {
    stop_warning();
    if (on_start_) on_start_();
  }

  // Warns in `wait` that ranks have waited for `waited`, and so on. Not by a timer of the loop, since
  // poll_fd() does not become readable for these. Without a descriptor, there is no warning.
  void warn_after(std::chrono::milliseconds wait, std::chrono::milliseconds waited) {
    stop_warning();
    timer_.reset(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
    if (!timer_) return;
    itimerspec once = {};
    once.it_value.tv_sec = wait.count() / 1000;
    once.it_value.tv_nsec = wait.count() % 1000 * 1'000'000;
    ::timerfd_settime(timer_.get(), 0, &once, nullptr);
    warning_ = loop_.watch(timer_.get(), POLLIN, [this, waited] {
      stop_warning();
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(waited);
      if (job_.warn_of_missing(seconds)) warn_after(waited, 2 * waited);
    });
  }

  void stop_warning() {
    loop_.forget(std::exchange(warning_, 0));
    timer_.reset();
  }

  const std::string address_;
  const std::function<void()> on_start_;
  const std::chrono::milliseconds patience_;
  io::event_loop loop_;
  bootstrap_state job_;
  std::vector<member> ranks_;
  std::vector<int> leaving_;
  io::unique_fd timer_;  // of the next warning
  io::event_loop::id warning_ = 0;
  std::optional<io::acceptor> acceptor_;
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
  if (job.token.size() > io::max_token_size) {
    return base::InvalidArgumentError(base::StrCat("the token has ", job.token.size(),
                                                   " bytes; at most ", io::max_token_size,
                                                   " are accepted"));
  }
  if (base::Status status = check_job_id("job id ", job.job_id); !status.ok()) return status;
  base::StatusOr<std::string> address = io::local_address(listener.get());
  if (!address.ok()) return address.status();
  if (job.token.empty() && !io::is_loopback(listener.get())) {
    return base::InvalidArgumentError(
        base::StrCat("a server at ", *address,
                     " can be reached from other machines and needs a token: set LCI_BOOT_TOKEN to "
                     "the same secret (such as 32 random hexadecimal digits) in all ranks"));
  }
  auto made = std::make_unique<server>(*std::move(address), job);
  if (const base::Status& status = made->start(std::move(listener), job.token); !status.ok())
    return status;
  return base::StatusOr<std::unique_ptr<tcp_server>>(std::move(made));
}

}  // namespace lci::boot
